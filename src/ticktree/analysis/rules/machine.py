"""Rules about the machine: cores that others take, more threads than cores, cores or GPUs that slow down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim, Fact, Finding, Severity, severity_of
from ticktree.analysis.machine import (
    MARGIN_CORES,
    QUANTILE,
    Machine,
    busy_threads,
    is_contended,
    is_oversubscribed,
)
from ticktree.analysis.workers.roles import most_processes
from ticktree.profile import Gauge
from ticktree.profile.histogram import middle_of
from ticktree.profile.machine import gpus

# A twentieth of all time gone is more than most comparisons are about.
STEAL_SHARE = 0.05

# Cores that clock up and down with their load differ by a tenth from second to second.
SLOW_FACTOR = 0.85
# In a fifth of the run, it is not a passing disturbance.
SLOW_SHARE = 0.2
# In less than ten seconds a core may just have begun to clock up.
FEWEST_READINGS = 10
# The best speed is the one that a tenth of the readings reached: a single one may be wrong.
_BEST = 0.9
# Events per second, in the median second or in the worst tenth of them; none is the rule.
_EVENTS_AT = 0.9

# Variables for the number of threads that libraries start for one operation.
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# What the instrument of gymnasium calls the wait for an AsyncVectorEnv's workers.
VECTOR_WAIT = "step_wait"
# The gauge that the instrument of torch keeps: it exists where the program uses torch.
COMPILED_GAUGE = "torch/compiled"


def _measurement(rule: str, severity: Severity, facts: Mapping[str, Fact]) -> Finding:
    return Finding(rule=rule, kind="measurement", severity=severity, path="", facts=facts)


class ContendedRule:
    """Other processes, or the hypervisor, take the cores that the run needs.

    Finds a run that others kept from its cores; see docs/rules/contended.md.
    """

    name: ClassVar[str] = "contended"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for other processes, unless the run itself has threads to spare, and one for steal."""
        machine = Machine(context.profile)
        if machine.is_one:
            yield from self._by_processes(machine)
            yield from self._by_hypervisor(machine)

    def _by_processes(self, machine: Machine) -> Iterator[Finding]:
        waiting, others = machine.at("waiting", QUANTILE), machine.at("others", QUANTILE)
        if waiting is None or others is None or not is_contended(machine):
            return
        used = machine.typical("used")
        yield _measurement(
            self.name,
            severity_of(_share_of_run(waiting, used)),
            {
                "by": "processes",
                "waiting_share": waiting,
                "cores_used_by_others": others,
                "cores_used": used or 0.0,
                "readings": gauge.count if (gauge := machine.gauge("others")) else 0,
                **({"cores": machine.cores} if machine.cores is not None else {}),
            },
        )

    def _by_hypervisor(self, machine: Machine) -> Iterator[Finding]:
        gauge, steal = machine.gauge("steal"), machine.at("steal", QUANTILE)
        if gauge is None or steal is None or steal < STEAL_SHARE:
            return
        yield _measurement(
            self.name,
            severity_of(steal),
            {
                "by": "hypervisor",
                "stolen_share": steal,
                "max_stolen_share": gauge.max,
                "readings": gauge.count,
            },
        )


def _share_of_run(waiting: float, used: float | None) -> float:
    """Return the possible cost of waits for a core: a loop does not wait while it sleeps between its ticks.

    Threads waited for a share of the time in which they could have run, and ran on so many cores on average.
    """
    if used is None or waiting >= 1:
        return waiting
    return min(waiting, used * waiting / (1 - waiting))


class OversubscribedRule:
    """The run has more busy threads than cores are left for it.

    Finds a run whose own threads wait for one another's cores; see docs/rules/oversubscribed.md.
    """

    name: ClassVar[str] = "oversubscribed"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield one finding, where in the median second threads waited and the run had some to spare."""
        machine = Machine(context.profile)
        used, waiting = machine.typical("used"), machine.typical("waiting")
        if not machine.is_one or used is None or waiting is None or not is_oversubscribed(machine):
            return
        # With no more threads than cores it is others that are in the way, and on an idle machine nothing is wrong.
        busy, cores = busy_threads(used, waiting), machine.cores or 0
        is_alone = busy > cores + MARGIN_CORES
        settings = _thread_settings(context)
        # Threads of one library spin while they wait for each other; others, and workers, do work that is left with
        # fewer of them.
        may_spin = settings["threads_per_library"] == "many" and settings["processes"] in (0, 1)
        yield Finding(
            rule=self.name,
            kind="recommendation" if is_alone else "measurement",
            severity=severity_of(waiting),
            # Alone on all cores, the same threads would still wait so much for each other; the rest is others' doing.
            claim=Claim(min(waiting, 1 - cores / busy)) if is_alone and may_spin else None,
            path="",
            facts={
                "busy_threads": busy,
                "cores": cores,
                "waiting_share": waiting,
                "cores_used": used,
                "cores_used_by_others": machine.typical("others") or 0.0,
                "readings": gauge.count if (gauge := machine.gauge("waiting")) else 0,
                **settings,
                **_vector_workers(context, machine),
            },
        )


def _vector_workers(context: Context, machine: Machine) -> Mapping[str, Fact]:
    """Return how many processes an AsyncVectorEnv may have, where the run has one and more of them than cores."""
    root, processes = context.profile.root, {writer.process for writer in context.profile.writers.values()}
    workers = len(processes) - 1
    if workers <= (machine.cores or 0):
        return {}
    waits = any(node.wait and node.name == VECTOR_WAIT for _, _, node in root.walk())
    return {"vector_workers": workers} if waits else {}


def _thread_settings(context: Context) -> Mapping[str, Fact]:
    """Return what decides which remedy this run has: what is set already, and what it does not use, is none."""
    metadata = context.profile.metadata
    values = {name: metadata[f"env.{name}"] for name in _VARIABLES if metadata.get(f"env.{name}")}
    facts: dict[str, Fact] = {
        "processes": most_processes(context.profile),
        "uses_torch": COMPILED_GAUGE in context.profile.gauges,
        "threads_per_library": "one"
        if any(str(each) == "1" for some in values.values() for each in some)
        else "many",
    }
    if values:
        name = next(iter(values))
        facts |= {"variable": name, "variable_value": ", ".join(map(str, values[name]))}
    return facts


class ThrottledRule:
    """The cores became slower during the run, or a GPU was slowed down for its heat or its power.

    Finds a machine that did not keep its speed; see docs/rules/throttled.md.
    """

    name: ClassVar[str] = "throttled"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding where cores were slowed down for their heat or were slow for long, and one for each GPU."""
        machine = Machine(context.profile)
        if machine.is_one:
            yield from self._cores(machine)
            for number, readings in gpus(context.profile.gauges).items():
                yield from self._gpu(number, readings)

    def _gpu(self, number: int, readings: Mapping[str, Gauge]) -> Iterator[Finding]:
        slowed = readings.get("slowed")
        if slowed is None or slowed.count < FEWEST_READINGS:
            return
        share = (slowed.count - slowed.zeros) / slowed.count
        if share >= SLOW_SHARE:
            facts: dict[str, Fact] = {"gpu": str(number), "slowed_share": share, "readings": slowed.count}
            yield _measurement(self.name, "warning", facts)

    def _cores(self, machine: Machine) -> Iterator[Finding]:
        speed, events = machine.gauge("frequency"), machine.gauge("throttled")
        slow = None if speed is None else _slow(speed)
        events_per_s = None if events is None else events.quantile(_EVENTS_AT)
        if slow is None and not events_per_s:
            return
        facts: dict[str, Fact] = {}
        lost_share = 0.0
        if slow is not None:
            share, best, mean = slow
            lost_share = share * (1 - mean / best)
            facts |= {"slow_share": share, "lost_share": lost_share, "best_mhz": best, "slow_mhz": mean}
        if events_per_s:
            facts["slow_downs_per_s"] = events_per_s
        severity = severity_of(lost_share) if slow is not None else "warning"
        yield _measurement(self.name, severity, facts)


def _slow(speed: Gauge) -> tuple[float, float, float] | None:
    """Return the share of slow readings, the best speed and the mean of the slow ones; None if few are slow."""
    best = speed.quantile(_BEST)
    if best is None or speed.count < FEWEST_READINGS:
        return None
    slow = {
        bucket: count
        for bucket, count in speed.positive.buckets.items()
        if middle_of(bucket) < SLOW_FACTOR * best
    }
    number = sum(slow.values())
    if number < SLOW_SHARE * speed.filed:
        return None
    mean = sum(middle_of(bucket) * count for bucket, count in slow.items()) / number
    return number / speed.filed, best, mean
