"""The model of a run: immutable, mergeable, saved as JSON. It knows nothing of files, clocks or screens."""

from __future__ import annotations

from ticktree.profile.clock import CLOCKS, Clock, key_of
from ticktree.profile.errors import ProfileError
from ticktree.profile.gauge import Gauge
from ticktree.profile.histogram import Histogram
from ticktree.profile.lateness import Jitter, Lateness
from ticktree.profile.loop import Loop
from ticktree.profile.measures import CallSite, Cpu, Memory, Open, Share, Waker, Wakes, Work
from ticktree.profile.node import MAX_DEPTH, Node
from ticktree.profile.profile import ROOT_NAME, Profile
from ticktree.profile.stats import Stats
from ticktree.profile.ticks import Causes, FirstTicks, WorstTick
from ticktree.profile.windows import Windows
from ticktree.profile.writer import CriticalPlace, Writer

__all__ = [
    "CLOCKS",
    "MAX_DEPTH",
    "ROOT_NAME",
    "CallSite",
    "Causes",
    "Clock",
    "Cpu",
    "CriticalPlace",
    "FirstTicks",
    "Gauge",
    "Histogram",
    "Jitter",
    "Lateness",
    "Loop",
    "Memory",
    "Node",
    "Open",
    "Profile",
    "ProfileError",
    "Share",
    "Stats",
    "Waker",
    "Wakes",
    "Windows",
    "Work",
    "WorstTick",
    "Writer",
    "key_of",
]
