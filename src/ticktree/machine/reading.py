"""Readings: what the system's counters say at one moment.

All counters only grow. What the system does not tell is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Core:
    """How a core's time was spent since the machine was started, in the system's clock ticks.

    Attributes:
        total: all of it.
        idle: in which it had nothing to do, or waited for a disk.
        steal: in which the hypervisor had given it to somebody else; None where that is not told.
    """

    total: int
    idle: int
    steal: int | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """What the scheduler knows of a thread.

    Attributes:
        ran_ns: on a core.
        waited_ns: ready to run, for want of a core.
    """

    ran_ns: int
    waited_ns: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters at one moment.

    Attributes:
        at_ns: when, on a clock that never goes back.
        used_ns: CPU time of the run's processes so far, also of those that have ended; None where not told.
        self_ns: CPU time of whoever reads, which is neither the run's nor others'.
        cores: those that the run may use, by number.
        threads: those of the run, by process and thread.
        mhz: how fast each core runs.
        throttles: how often cores were slowed down for their heat; None where that is not told.
    """

    at_ns: int
    used_ns: int | None = None
    self_ns: int = 0
    cores: Mapping[int, Core] = field(default_factory=dict)
    threads: Mapping[tuple[int, int], Thread] = field(default_factory=dict)
    mhz: Mapping[int, float] = field(default_factory=dict)
    throttles: int | None = None
