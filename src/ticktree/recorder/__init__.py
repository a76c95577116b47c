"""The recorder: writes what a program does into a memory file, in place, and knows nothing of what becomes of it."""

from __future__ import annotations

from ticktree.recorder._native import (
    MOST_EVENTS,
    Block,
    Boundary,
    Calling,
    Channel,
    Entered,
    Layer,
    Loop,
    Origin,
    OutermostFunction,
    Recorder,
    Section,
    Tick,
    TimedFunction,
    Wait,
    Watch,
    copy_settled,
    end_unmarked,
    is_inside,
    make_block,
    silence,
    tick_unmarked,
)
from ticktree.recorder.calibration import calibrate
from ticktree.recorder.children import (
    AUTO_VARIABLE,
    MEMORY_VARIABLE,
    PARENT_VARIABLE,
    RUN_VARIABLE,
    TIMELINE_VARIABLE,
    TRACE_VARIABLE,
    lead_children,
    leave_children,
)
from ticktree.recorder.hooks import install, uninstall
from ticktree.recorder.later import SYNC_VARIABLE, poll, settle
from ticktree.recorder.off import OFF_FOR_GOOD, OFF_VARIABLE, says_off
from ticktree.recorder.own import OWN
from ticktree.recorder.timed import timed

__all__ = [
    "AUTO_VARIABLE",
    "MEMORY_VARIABLE",
    "MOST_EVENTS",
    "OFF_FOR_GOOD",
    "OFF_VARIABLE",
    "OWN",
    "PARENT_VARIABLE",
    "RUN_VARIABLE",
    "SYNC_VARIABLE",
    "TIMELINE_VARIABLE",
    "TRACE_VARIABLE",
    "Block",
    "Boundary",
    "Calling",
    "Channel",
    "Entered",
    "Layer",
    "Loop",
    "Origin",
    "OutermostFunction",
    "Recorder",
    "Section",
    "Tick",
    "TimedFunction",
    "Wait",
    "Watch",
    "calibrate",
    "copy_settled",
    "end_unmarked",
    "install",
    "is_inside",
    "lead_children",
    "leave_children",
    "make_block",
    "poll",
    "says_off",
    "settle",
    "silence",
    "tick_unmarked",
    "timed",
    "uninstall",
]
