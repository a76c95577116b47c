"""The machine of a run: how busy it was, and what it can do at most.

A profile may be of runs on several machines, and does not record which work ran on which. So a rule that calls a
number impossible uses the fastest of them, and a rule that calls a number slow uses the slowest.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ticktree.profile import Gauge, Profile, Windows
from ticktree.profile import machine as names
from ticktree.profile.gauge import GaugeWindows

Of: TypeAlias = Literal["used", "others", "steal", "waiting", "frequency", "throttled"]

_GAUGES: dict[Of, str] = {
    "used": names.USED,
    "others": names.OTHERS,
    "steal": names.STEAL,
    "waiting": names.WAITING,
    "frequency": names.FREQUENCY,
    "throttled": names.THROTTLED,
}
_Choice: TypeAlias = Callable[[Iterable[float]], float]


# Of the time in which a thread could have run. The scheduler shares cores fairly: to wait for a tenth of it there must
# be more than one for each core much of the time.
WAITING_SHARE = 0.1
# With one busy thread there is none to spare: then others are in the way (rule contended).
LEAST_BUSY = 1.5
# Counters of CPU time are coarse, and threads hand work over: so far above the cores there are, is above.
MARGIN_CORES = 0.25
# What happens in a quarter of the run's seconds changes its means and makes its percentiles.
QUANTILE = 0.75
# Less is what a system does for itself.
LEAST_OTHERS = 0.2
# Of fewer readings it is not known whether what they are of varied.
FEWEST_READINGS = 5
# A GPU's reading covers up to a second before it, and a loop in which there are fewer may not be steady.
GPU_READING_NS = 1_000_000_000
FEWEST_GPU_READINGS = 3


class Machine:
    """The readings of a machine during a profile's run; None where there are none.

    Merged runs have one machine only if the metadata of all of them agree.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    @property
    def cores(self) -> int | float | None:
        """How many cores the run may use."""
        metadata = self._profile.metadata
        usable = metadata.get("cores_usable") or metadata.get("cores", frozenset())
        known = _numbers(usable)
        return known[0] if len(known) == len(usable) == 1 and known[0] > 0 else None

    @property
    def free_cores(self) -> float | None:
        """How many of them other processes typically leave."""
        return None if self.cores is None else self.cores - (self.typical("others") or 0.0)

    @property
    def is_one(self) -> bool:
        """Whether all readings are of the same machine."""
        return len(self._profile.metadata.get("host", ())) <= 1

    def gauge(self, of: Of) -> Gauge | None:
        """The readings of one thing."""
        return self._profile.gauges.get(_GAUGES[of])

    def typical(self, of: Of) -> float | None:
        """Its median reading."""
        return self.at(of, 0.5)

    def at(self, of: Of, quantile: float) -> float | None:
        """The reading that so large a share of the readings did not exceed."""
        gauge = self.gauge(of)
        return None if gauge is None else gauge.quantile(quantile)


def most_saved_by_overlap(machine: Machine) -> float:
    """Return the largest share of its time that a run can save by working on several cores at once; 1 if unknown.

    The same work on all cores that others leave takes no less.
    """
    used, free = machine.typical("used"), machine.free_cores
    if used is None or free is None:
        return 1.0
    return max(0.0, 1 - used / free) if free > 0 else 0.0


def gpu_used_during(profile: Profile, windows: Windows) -> float | None:
    """Return the share of time in which the busiest GPU had something to do while a section was called.

    None where fewer than three of the driver's readings lie between its first call and its last.
    """
    if not windows.counts:
        return None
    first_ns = min(windows.counts) * windows.width_ns
    last_ns = (max(windows.counts) + 1) * windows.width_ns
    means = []
    for readings in names.gpus(profile.gauges).values():
        used = readings["used"].windows if "used" in readings else GaugeWindows()
        values = [
            (window.min + window.max) / 2
            for index, window in used.readings.items()
            if first_ns + GPU_READING_NS <= index * used.width_ns and (index + 1) * used.width_ns <= last_ns
        ]
        if len(values) >= FEWEST_GPU_READINGS:
            means.append(statistics.fmean(values))
    return max(means, default=None)


def is_contended(machine: Machine) -> bool:
    """Return whether other processes took cores that the run waited for, in a quarter of its seconds."""
    waiting, others = machine.at("waiting", QUANTILE), machine.at("others", QUANTILE)
    if not machine.is_one or waiting is None or others is None or is_oversubscribed(machine):
        return False
    return waiting >= WAITING_SHARE and others >= LEAST_OTHERS


def doubt_of(machine: Machine) -> str:
    """Return why the run waited for cores, which alone may make its ticks late or slow; "" if it did not."""
    if is_contended(machine):
        return "contended"
    return "oversubscribed" if machine.is_one and is_oversubscribed(machine) else ""


def others_varied(machine: Machine) -> bool:
    """Return whether other processes used more of the cores in some of the run's seconds than in others.

    They slow a run down without taking its cores: cores share caches, memory and, as hyperthreads, their units.
    """
    others = machine.gauge("others")
    if others is None or not machine.is_one:
        return False
    if others.count < FEWEST_READINGS:
        return others.max >= LEAST_OTHERS
    return (machine.at("others", 0.9) or 0.0) - (machine.at("others", 0.1) or 0.0) >= LEAST_OTHERS


def is_oversubscribed(machine: Machine) -> bool:
    """Return whether threads waited for cores, and the run had more busy threads than cores were left to it."""
    used, waiting = machine.typical("used"), machine.typical("waiting")
    free = machine.free_cores
    if used is None or waiting is None or free is None or waiting < WAITING_SHARE:
        return False
    busy = busy_threads(used, waiting)
    return busy >= LEAST_BUSY and busy > free + MARGIN_CORES


def busy_threads(used: float, waiting: float) -> float:
    """Return how many threads were on a core or ready for one, on average."""
    return used / (1 - waiting) if waiting < 1 else used


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """The ceilings of a machine. None if unknown.

    Attributes:
        memcpy_bytes_per_s: bytes copied per second by one thread, too many for a cache, onto memory that is already
            allocated. Each byte counts once, although it is read and written.
        cache_copy_bytes_per_s: the same for so few bytes that they stay in the caches.
        cache_bytes: size of the largest cache.
        flops_per_s_thread: float32 operations per second by one thread.
        flops_per_s: the same by as many threads as there are usable cores.
        is_measured: whether these two were measured; otherwise they are computed from the processor's vector width, so
            generously that no program comes near.
        low_precision_factor: how many times as fast as float32 narrower formats are at most (bfloat16, float16).
        cores: number of cores that the run could use.
        gpus: number of GPUs that the system reported; 0 does not mean that there is none.
    """

    memcpy_bytes_per_s: float | None = None
    cache_copy_bytes_per_s: float | None = None
    cache_bytes: int | None = None
    flops_per_s_thread: float | None = None
    flops_per_s: float | None = None
    is_measured: bool = False
    low_precision_factor: float = 1.0
    cores: int = 1
    gpus: int = 0


def fastest_machine(profile: Profile) -> Ceilings | None:
    """Return ceilings that no machine of a profile exceeds; None if the profile has no ceilings."""
    return _ceilings(profile, max)


def slowest_machine(profile: Profile) -> Ceilings | None:
    """Return ceilings that every machine of a profile reaches; None if the profile has no ceilings."""
    return _ceilings(profile, min)


def _ceilings(profile: Profile, choice: _Choice) -> Ceilings | None:
    """Return the ceilings in a profile's metadata; of several machines, the one that `choice` returns for each key."""
    facts = profile.metadata
    if not any(key.startswith("ceiling.") for key in facts):
        return None

    def one(key: str, choose: _Choice = choice) -> float | None:
        # Metadata may come from an untrusted file.
        known = [float(value) for value in _numbers(facts.get(key, ())) if 0 < value < 1e300]
        return choose(known) if known else None

    return Ceilings(
        memcpy_bytes_per_s=one("ceiling.memcpy_bytes_per_s"),
        cache_copy_bytes_per_s=one("ceiling.cache_copy_bytes_per_s"),
        cache_bytes=_whole(one("ceiling.cache_bytes")),
        flops_per_s_thread=one("ceiling.flops_per_s_thread"),
        flops_per_s=one("ceiling.flops_per_s"),
        is_measured=facts.get("ceiling.source") == frozenset({"measured"}),
        low_precision_factor=max(1.0, one("ceiling.low_precision_factor") or 1.0),
        cores=_whole(one("cores_usable") or one("cores")) or 1,
        gpus=_whole(one("gpus", max)) or 0,  # a part of no speed: there is one, or there is none
    )


def _numbers(values: Iterable[object]) -> list[int | float]:
    return [each for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
