"""The machine of a run: how busy it was, and its ceilings.

A profile may contain runs on several machines, and does not record which work ran on which. So a rule that calls a
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
    "used": names.USED_CORES,
    "others": names.OTHER_CORES,
    "steal": names.STEAL,
    "waiting": names.WAITING,
    "frequency": names.FREQUENCY,
    "throttled": names.THROTTLED,
}
_Choice: TypeAlias = Callable[[Iterable[float]], float]

# The share of the time in which a thread could have run that it waited for a core. The scheduler shares cores fairly:
# a tenth means that there was more than one thread per core much of the time.
WAITING_SHARE = 0.1
# With one busy thread there is none to spare: then other processes are the cause (rule contended).
MIN_BUSY = 1.5
# Counters of CPU time are coarse, and threads hand work over: only a larger excess over the cores counts.
MARGIN_CORES = 0.25
# What happens in a quarter of the run's seconds changes its means and determines its percentiles.
QUANTILE = 0.75
# In cores: the system's own processes use less than this.
MIN_OTHERS = 0.2
# Fewer readings do not show whether the measured value varied.
MIN_READINGS = 5
# A GPU's reading covers up to a second before it, and a loop with fewer readings may not be steady.
GPU_READING_NS = 1_000_000_000
MIN_GPU_READINGS = 3


class Machine:
    """The readings of a machine during a profile's run; None where there are none.

    Merged runs have one machine only if the metadata of all runs agree.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    @property
    def cores(self) -> int | float | None:
        """How many cores the run may use."""
        metadata = self._profile.metadata
        usable = metadata.get("cores_usable") or metadata.get("cores", frozenset())
        counts = _numbers(usable)
        return counts[0] if len(counts) == len(usable) == 1 and counts[0] > 0 else None

    @property
    def free_cores(self) -> float | None:
        """How many cores other processes typically leave free."""
        return None if self.cores is None else self.cores - (self.typical("others") or 0.0)

    @property
    def is_one(self) -> bool:
        """Whether all readings are of the same machine."""
        return len(self._profile.metadata.get("host", ())) <= 1

    def gauge(self, of: Of) -> Gauge | None:
        """The gauge of a resource."""
        return self._profile.gauges.get(_GAUGES[of])

    def typical(self, of: Of) -> float | None:
        """The median reading of a resource."""
        return self.at(of, 0.5)

    def at(self, of: Of, quantile: float) -> float | None:
        """A quantile of a resource's readings."""
        gauge = self.gauge(of)
        return None if gauge is None else gauge.quantile(quantile)


def most_saved_by_overlap(machine: Machine) -> float:
    """Return the maximum share of its time that a run can save by working on several cores at once; 1 if unknown.

    The same work on all cores that other processes leave free takes at least as long.
    """
    used, free = machine.typical("used"), machine.free_cores
    if used is None or free is None:
        return 1.0
    return max(0.0, 1 - used / free) if free > 0 else 0.0


def gpu_used_during(profile: Profile, windows: Windows) -> float | None:
    """Return the share of time in which the busiest GPU was in use while a section was called.

    None if fewer than three of the driver's readings are between the section's first and last call.
    """
    if not windows.counts:
        return None
    first_ns = min(windows.counts) * windows.width_ns
    last_ns = (max(windows.counts) + 1) * windows.width_ns
    means = []
    for readings in names.gpus(profile.gauges).values():
        gauge_windows = readings["used"].windows if "used" in readings else GaugeWindows()
        values = [
            (window.min + window.max) / 2
            for index, window in gauge_windows.readings.items()
            if first_ns + GPU_READING_NS <= index * gauge_windows.width_ns
            and (index + 1) * gauge_windows.width_ns <= last_ns
        ]
        if len(values) >= MIN_GPU_READINGS:
            means.append(statistics.fmean(values))
    return max(means, default=None)


def is_contended(machine: Machine) -> bool:
    """Return whether other processes used cores that the run waited for, in a quarter of its seconds."""
    waiting, others = machine.at("waiting", QUANTILE), machine.at("others", QUANTILE)
    if not machine.is_one or waiting is None or others is None or is_oversubscribed(machine):
        return False
    return waiting >= WAITING_SHARE and others >= MIN_OTHERS


def doubt_of(machine: Machine) -> str:
    """Return why the run waited for cores, which alone can make its ticks late or slow; "" if it did not wait."""
    if is_contended(machine):
        return "contended"
    return "oversubscribed" if machine.is_one and is_oversubscribed(machine) else ""


def others_varied(machine: Machine) -> bool:
    """Return whether the cores that other processes used varied over the run.

    Other processes slow a run down even on other cores: cores share caches, memory and, as hyperthreads, their units.
    """
    others = machine.gauge("others")
    if others is None or not machine.is_one:
        return False
    if others.count < MIN_READINGS:
        return others.max >= MIN_OTHERS
    return (machine.at("others", 0.9) or 0.0) - (machine.at("others", 0.1) or 0.0) >= MIN_OTHERS


def is_oversubscribed(machine: Machine) -> bool:
    """Return whether threads waited for cores, and the run had more busy threads than cores were free for it."""
    used, waiting = machine.typical("used"), machine.typical("waiting")
    free = machine.free_cores
    if used is None or waiting is None or free is None or waiting < WAITING_SHARE:
        return False
    busy = busy_threads(used, waiting)
    return busy >= MIN_BUSY and busy > free + MARGIN_CORES


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
            generously that no program comes close.
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
    """Return the ceilings in a profile's metadata; `choice` selects from the values of several machines."""
    facts = profile.metadata
    if not any(key.startswith("ceiling.") for key in facts):
        return None

    def fact(key: str, choose: _Choice = choice) -> float | None:
        # Metadata may come from an untrusted file.
        numbers = [float(value) for value in _numbers(facts.get(key, ())) if 0 < value < 1e300]
        return choose(numbers) if numbers else None

    return Ceilings(
        memcpy_bytes_per_s=fact("ceiling.memcpy_bytes_per_s"),
        cache_copy_bytes_per_s=fact("ceiling.cache_copy_bytes_per_s"),
        cache_bytes=_int_or_none(fact("ceiling.cache_bytes")),
        flops_per_s_thread=fact("ceiling.flops_per_s_thread"),
        flops_per_s=fact("ceiling.flops_per_s"),
        is_measured=facts.get("ceiling.source") == frozenset({"measured"}),
        low_precision_factor=max(1.0, fact("ceiling.low_precision_factor") or 1.0),
        cores=_int_or_none(fact("cores_usable") or fact("cores")) or 1,
        gpus=_int_or_none(fact("gpus", max)) or 0,  # on any of the machines
    )


def _numbers(values: Iterable[object]) -> list[int | float]:
    return [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]


def _int_or_none(number: float | None) -> int | None:
    return None if number is None else int(number)
