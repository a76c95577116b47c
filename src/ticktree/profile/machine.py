"""Gauges of the machine during a run, which ticktree reads and the program does not report.

Every reading covers the time since the last one, about a second. A gauge is absent if the system does not provide it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ticktree.profile.gauge import Gauge
from ticktree.profile.samples import MIN_SAMPLES

if TYPE_CHECKING:
    from ticktree.profile.profile import Profile

# Cores that the run's processes used, and cores, of those the run may use, that all other programs used.
USED_CORES = "machine/used"
OTHER_CORES = "machine/others"
# The share of these cores' time that the hypervisor gave to other guests.
STEAL = "machine/steal"
# The share of the time in which the run's threads were runnable that they waited for a core.
WAITING = "machine/waiting"
# Of the cores that were busy, in MHz.
FREQUENCY = "machine/frequency"
# How often per second these cores were slowed down because they were too hot.
THROTTLED = "machine/throttled"
# Bytes of memory that the run's processes have, and how fast they grew per second, new processes left out.
RESIDENT = "machine/resident"
GROWTH = "machine/growth"
# Minor page faults of these processes per second: first touches of memory; and the cores that they used in the kernel,
# which handles these faults.
FAULTS = "machine/faults"
SYSTEM = "machine/system"
# Huge pages per second that the system gave to any program: a fault for one is a fault for 512 pages.
HUGE_PAGES = "machine/huge_pages"

# The number of threads that a library of the program uses for one operation, by its name, at the program's end.
THREADS_PREFIX = "machine/threads/"

# Present if a process of the run could not record its functions in focus at least part of the time, because of another
# profiler.
FOCUS_UNSEEN = "machine/focus/unseen"

MACHINE_GAUGES = (
    USED_CORES,
    OTHER_CORES,
    STEAL,
    WAITING,
    FREQUENCY,
    THROTTLED,
    RESIDENT,
    GROWTH,
    FAULTS,
    SYSTEM,
    HUGE_PAGES,
)

# Of each NVIDIA GPU, by the driver's number: the share of time in which it was busy, bytes of its memory in use and
# free, the clock of its processors in MHz, its power in W, its temperature in degrees Celsius, and 1 if it was slowed
# down for heat or power, else 0. These are totals over all programs of the machine.
GPU_READINGS = ("used", "memory", "memory_free", "frequency", "power", "temperature", "slowed")

_GPU = re.compile(rf"machine/gpu(\d{{1,3}})/({'|'.join(GPU_READINGS)})")


def gpu_gauge(number: int, reading: str) -> str:
    """Return the name of the gauge of one of `GPU_READINGS` of a GPU."""
    return f"machine/gpu{number}/{reading}"


def gpus(gauges: Mapping[str, Gauge]) -> dict[int, dict[str, Gauge]]:
    """Return the gauges of each GPU, by its number and by `GPU_READINGS`."""
    gpu_gauges: dict[int, dict[str, Gauge]] = {}
    for name, gauge in gauges.items():
        if match := _GPU.fullmatch(name):
            gpu_gauges.setdefault(int(match[1]), {})[match[2]] = gauge
    return dict(sorted(gpu_gauges.items()))


def is_machine_gauge(name: str) -> bool:
    """Tell whether a gauge is a reading of the machine."""
    return name in MACHINE_GAUGES or _GPU.fullmatch(name) is not None


def program_gauges(gauges: Mapping[str, Gauge]) -> dict[str, Gauge]:
    """Return the gauges that the program itself reported."""
    return {
        name: gauge
        for name, gauge in gauges.items()
        if not is_machine_gauge(name) and name != FOCUS_UNSEEN and not name.startswith(THREADS_PREFIX)
    }


def library_threads(gauges: Mapping[str, Gauge]) -> dict[str, int]:
    """Return how many threads each library that reported it uses for one operation, by its name."""
    return {
        name[len(THREADS_PREFIX) :]: int(gauge.last)
        for name, gauge in gauges.items()
        if name.startswith(THREADS_PREFIX)
    }


def is_empty(profile: Profile) -> bool:
    """Tell whether the program recorded nothing; gauges of the machine do not count."""
    has_samples = profile.samples is not None and profile.samples.count >= MIN_SAMPLES
    return not profile.root.children and not program_gauges(profile.gauges) and not has_samples
