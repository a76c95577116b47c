"""Others take the cores: processes beside the run, or the hypervisor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Finding, severity_of
from ticktree.analysis.machine import Machine
from ticktree.analysis.rules.oversubscribed import is_oversubscribed
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import percent

# What happens in a quarter of the run's seconds changes its means and makes its percentiles.
QUANTILE = 0.75
# As for oversubscription.
WAITING_SHARE = 0.1
# Less is what a system does for itself.
LEAST_OTHERS = 0.2
# A twentieth of all time gone is more than most comparisons are about.
STEAL_SHARE = 0.05


class ContendedRule:
    """A run that others kept from its cores; see docs/rules/contended.md."""

    name: ClassVar[str] = "contended"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for other processes, unless the run itself has threads to spare, and one for steal."""
        machine = Machine(seen.profile)
        if not machine.is_one:
            return
        yield from self._by_processes(machine)
        yield from self._by_hypervisor(machine)

    def _by_processes(self, machine: Machine) -> Iterator[Finding]:
        waiting, others = machine.at("waiting", QUANTILE), machine.at("others", QUANTILE)
        if waiting is None or others is None or not is_contended(machine):
            return
        stake = _share_of_the_run(waiting, machine.typical("used"))
        of = f" of {machine.cores:g} cores" if machine.cores is not None else " cores"
        yield Finding(
            rule=self.name,
            kind="measurement",
            severity=severity_of(stake),
            path="",
            message=(
                f"other processes use {others:.1f}{of}, and the run waits for one {percent(waiting)} of the time it"
                " could run, in a quarter of its seconds: measure on an idle machine, or pin it to cores of its own"
            ),
            evidence={
                "cores_used_by_others": others,
                "cores_used": machine.typical("used") or 0.0,
                "readings": gauge.count if (gauge := machine.gauge("others")) else 0,
            },
        )

    def _by_hypervisor(self, machine: Machine) -> Iterator[Finding]:
        gauge, steal = machine.gauge("steal"), machine.at("steal", QUANTILE)
        if gauge is None or steal is None or steal < STEAL_SHARE:
            return
        yield Finding(
            rule=self.name,
            kind="measurement",
            severity=severity_of(steal),
            path="",
            message=(
                f"the hypervisor gives {percent(steal)} of this virtual machine's time to others, in a quarter of the"
                " run's seconds: nothing in the program can change that"
            ),
            evidence={"stolen_share": steal, "at_most_share": gauge.max, "readings": gauge.count},
        )


def is_contended(machine: Machine) -> bool:
    """Tell whether other processes took cores that the run waited for, in a quarter of its seconds."""
    waiting, others = machine.at("waiting", QUANTILE), machine.at("others", QUANTILE)
    if not machine.is_one or waiting is None or others is None or is_oversubscribed(machine):
        return False
    return waiting >= WAITING_SHARE and others >= LEAST_OTHERS


def _share_of_the_run(waiting: float, used: float | None) -> float:
    """What waiting for a core can have cost: a loop that sleeps between its ticks does not wait meanwhile.

    Args:
        waiting: the part of the time in which its threads could run.
        used: the cores' worth of time in which they did; None where it is not known.
    """
    if used is None or waiting >= 1:
        return waiting
    return min(waiting, used * waiting / (1 - waiting))
