"""The run has more threads at work than there are cores for them: they wait for each other's, and for others'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.machine import Machine
from ticktree.analysis.rules.no_compilation import COMPILED_GAUGE
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import percent

# Of the time in which a thread could have run. The scheduler shares cores fairly: to wait for a tenth of it there must
# be more than one for each core much of the time.
WAITING_SHARE = 0.1
# With one busy thread there is none to spare: then others are in the way (rule contended).
LEAST_BUSY = 1.5
# Counters of CPU time are coarse, and threads hand work over: so far above the cores there are, is above.
MARGIN_CORES = 0.25

# What says how many threads libraries start for one operation.
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class OversubscribedRule:
    """A run whose own threads are more than the cores left to it; see docs/rules/oversubscribed.md."""

    name: ClassVar[str] = "oversubscribed"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield one finding, where in the median second threads waited and the run had some to spare."""
        machine = Machine(seen.profile)
        used, waiting = machine.typical("used"), machine.typical("waiting")
        if not machine.is_one or used is None or waiting is None or not is_oversubscribed(machine):
            return
        others, cores = machine.typical("others") or 0.0, machine.cores or 0
        busy = busy_threads(used, waiting)
        beside = f" that others use {others:.1f} of" if others >= 0.05 else ""
        yield Finding(
            rule=self.name,
            claim=Claim(waiting),
            path="",
            message=(
                f"oversubscription: {busy:.1f} busy threads share {cores:g} cores{beside}, and wait for one"
                f" {percent(waiting)} of the time they could run; {_remedy(seen)}"
            ),
            evidence={
                "busy_threads": busy,
                "cores_used": used,
                "cores_used_by_others": others,
                "readings": gauge.count if (gauge := machine.gauge("waiting")) else 0,
            },
        )


def is_oversubscribed(machine: Machine) -> bool:
    """Tell whether threads waited for cores and the run had more of them than cores were left to it."""
    used, waiting = machine.typical("used"), machine.typical("waiting")
    if used is None or waiting is None or machine.cores is None or waiting < WAITING_SHARE:
        return False
    busy = busy_threads(used, waiting)
    free = machine.cores - (machine.typical("others") or 0.0)
    return busy >= LEAST_BUSY and busy > free + MARGIN_CORES


def busy_threads(used: float, waiting: float) -> float:
    """Return how many threads were on a core or ready for one, on average: of each core used one, and who waited."""
    return used / (1 - waiting) if waiting < 1 else used


def _remedy(seen: Survey) -> str:
    """Return what to do in this run: what is set already, and what it does not use, is no advice."""
    facts = seen.profile.metadata
    now = {name: facts[f"env.{name}"] for name in _VARIABLES if facts.get(f"env.{name}")}
    if any(str(value) == "1" for values in now.values() for value in values):
        processes = len({writer.process for writer in seen.profile.writers.values()})
        if processes > 1:
            return f"start fewer worker processes than these {processes:,}: each runs one thread already"
        return "start fewer threads: numerical libraries run one each already"
    known = "".join(
        f"; {name} is {', '.join(map(str, values))} now" for name, values in list(now.items())[:1]
    )
    of_torch = "torch.set_num_threads(1) or " if COMPILED_GAUGE in seen.profile.gauges else ""
    return f"use one thread fewer ({of_torch}OMP_NUM_THREADS=1, and OMP_WAIT_POLICY=PASSIVE{known})"
