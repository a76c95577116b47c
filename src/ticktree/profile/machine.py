"""What is known of the machine while a run went on: gauges that ticktree itself reads, not the program.

Every reading is of the stretch since the one before, about a second. Where the system does not tell, there is no
gauge.
"""

from __future__ import annotations

from collections.abc import Mapping

from ticktree.profile.gauge import Gauge

# Cores that the run's processes used, and those that all else used of the cores that the run may use.
USED = "machine/used"
OTHERS = "machine/others"
# What part of these cores' time the hypervisor gave to somebody else.
STEAL = "machine/steal"
# What part of the time in which the run's threads could have run they waited for a core.
WAITING = "machine/waiting"
# Of the cores that were busy, in MHz.
FREQUENCY = "machine/frequency"
# How often a second these cores were slowed down because they were too hot.
THROTTLED = "machine/throttled"

# How many threads a library of the program has for one operation, by its name, as they were at the program's end.
THREADS_PREFIX = "machine/threads/"

MACHINE_GAUGES = (USED, OTHERS, STEAL, WAITING, FREQUENCY, THROTTLED)


def programs_own(gauges: Mapping[str, Gauge]) -> dict[str, Gauge]:
    """Return those of `gauges` that the program itself reported."""
    return {
        name: gauge
        for name, gauge in gauges.items()
        if name not in MACHINE_GAUGES and not name.startswith(THREADS_PREFIX)
    }


def threads(gauges: Mapping[str, Gauge]) -> dict[str, int]:
    """Return how many threads each library that said so had for one operation, by its name."""
    return {
        name[len(THREADS_PREFIX) :]: int(gauge.last)
        for name, gauge in gauges.items()
        if name.startswith(THREADS_PREFIX)
    }
