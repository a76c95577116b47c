"""What is known of the machine during a run: gauges that ticktree itself reads, not the program.

Every reading covers the time since the one before, about a second. Where the system does not tell, there is
no gauge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ticktree.profile.gauge import Gauge
from ticktree.profile.samples import LEAST_SAMPLES

if TYPE_CHECKING:
    from ticktree.profile.profile import Profile

# Cores that the run's processes used, and those that all else used of the cores that the run may use.
USED = "machine/used"
OTHERS = "machine/others"
# The share of these cores' time that the hypervisor gave to other guests.
STEAL = "machine/steal"
# What part of the time in which the run's threads could have run they waited for a core.
WAITING = "machine/waiting"
# Of the cores that were busy, in MHz.
FREQUENCY = "machine/frequency"
# How often a second these cores were slowed down because they were too hot.
THROTTLED = "machine/throttled"
# Bytes of memory that the run's processes have, and how many more a second those had that were there a second ago too.
RESIDENT = "machine/resident"
GROWTH = "machine/growth"
# How often a second these touched memory for the first time: minor page faults; and the cores that they used in the
# kernel, which is where these are answered.
FAULTS = "machine/faults"
SYSTEM = "machine/system"
# How many huge pages a second the system gave to programs, to any: a fault for one is a fault for 512 pages.
HUGE_PAGES = "machine/huge_pages"

# How many threads a library of the program has for one operation, by its name, as they were at the program's end.
THREADS_PREFIX = "machine/threads/"

# There where a process of the run could not look at its functions in focus, or not all the time: another profiler did.
FOCUS_UNSEEN = "machine/focus/unseen"

MACHINE_GAUGES = (
    USED,
    OTHERS,
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

# Of each NVIDIA GPU, by the driver's number for it: the share of time in which it had anything to do, bytes of its
# memory in use and free, the clock of its processors in MHz, its power in W, its temperature in degrees Celsius, and 1
# where it was slowed down for heat or power, else 0. It is the machine's, not one program's.
GPU_READINGS = ("used", "memory", "memory_free", "frequency", "power", "temperature", "slowed")

_GPU = re.compile(rf"machine/gpu(\d{{1,3}})/({'|'.join(GPU_READINGS)})")


def gpu_gauge(number: int, reading: str) -> str:
    """Return the name of the gauge of one of `GPU_READINGS` of a GPU."""
    return f"machine/gpu{number}/{reading}"


def gpus(gauges: Mapping[str, Gauge]) -> dict[int, dict[str, Gauge]]:
    """Return the readings of each GPU, by its number and by what they are of."""
    found: dict[int, dict[str, Gauge]] = {}
    for name, gauge in gauges.items():
        match = _GPU.fullmatch(name)
        if match:
            found.setdefault(int(match[1]), {})[match[2]] = gauge
    return dict(sorted(found.items()))


def is_of_machine(name: str) -> bool:
    """Tell whether a gauge is a reading of the machine."""
    return name in MACHINE_GAUGES or _GPU.fullmatch(name) is not None


def programs_own(gauges: Mapping[str, Gauge]) -> dict[str, Gauge]:
    """Return those of `gauges` that the program itself reported."""
    return {
        name: gauge
        for name, gauge in gauges.items()
        if not is_of_machine(name) and name != FOCUS_UNSEEN and not name.startswith(THREADS_PREFIX)
    }


def threads(gauges: Mapping[str, Gauge]) -> dict[str, int]:
    """Return how many threads each library that reported it uses for one operation, by its name."""
    return {
        name[len(THREADS_PREFIX) :]: int(gauge.last)
        for name, gauge in gauges.items()
        if name.startswith(THREADS_PREFIX)
    }


def is_empty(profile: Profile) -> bool:
    """Tell whether the program recorded nothing, whatever is known of its machine."""
    has_samples = profile.samples is not None and profile.samples.count >= LEAST_SAMPLES
    return not profile.root.children and not programs_own(profile.gauges) and not has_samples
