"""The model of a run: immutable, mergeable, saved as JSON. It does not depend on files, clocks or screens."""

from __future__ import annotations

from ticktree.profile.fields import ProfileError
from ticktree.profile.gauge import Gauge
from ticktree.profile.histogram import Histogram
from ticktree.profile.loop import Causes, FirstTicks, Jitter, Lateness, Loop, WorstTick
from ticktree.profile.measures import (
    CLOCKS,
    CallSite,
    Clock,
    Cpu,
    Memory,
    OpenCalls,
    Share,
    Waker,
    Wakes,
    Work,
    key_of,
)
from ticktree.profile.node import MAX_DEPTH, Node
from ticktree.profile.profile import ROOT_NAME, Profile
from ticktree.profile.samples import CodeLine, SampledStack, Samples, Weight
from ticktree.profile.stats import Stats, Windows
from ticktree.profile.thread import CriticalNode, Thread

__all__ = [
    "CLOCKS",
    "MAX_DEPTH",
    "ROOT_NAME",
    "CallSite",
    "Causes",
    "Clock",
    "CodeLine",
    "Cpu",
    "CriticalNode",
    "FirstTicks",
    "Gauge",
    "Histogram",
    "Jitter",
    "Lateness",
    "Loop",
    "Memory",
    "Node",
    "OpenCalls",
    "Profile",
    "ProfileError",
    "SampledStack",
    "Samples",
    "Share",
    "Stats",
    "Thread",
    "Waker",
    "Wakes",
    "Weight",
    "Windows",
    "Work",
    "WorstTick",
    "key_of",
]
