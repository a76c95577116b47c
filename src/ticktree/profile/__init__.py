"""The model of a run: immutable, mergeable, saved as JSON. It knows nothing of files, clocks or screens."""

from __future__ import annotations

from ticktree.profile.causes import Causes
from ticktree.profile.clock import CLOCKS, Clock, key_of
from ticktree.profile.critical import CriticalPlace
from ticktree.profile.errors import ProfileError
from ticktree.profile.gauge import Gauge
from ticktree.profile.histogram import Histogram
from ticktree.profile.lateness import Jitter, Lateness
from ticktree.profile.loop import Loop
from ticktree.profile.measures import CallSite, Cpu, Memory, Open, Work
from ticktree.profile.node import MAX_DEPTH, Node
from ticktree.profile.profile import ROOT_NAME, Profile
from ticktree.profile.share import Share
from ticktree.profile.stats import Stats
from ticktree.profile.ticks import FirstTicks, WorstTick
from ticktree.profile.wakes import Waker, Wakes
from ticktree.profile.windows import Windows
from ticktree.profile.writer import Writer

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
