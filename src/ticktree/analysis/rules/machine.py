"""Rules about the machine: cores used by other processes, more threads than cores, cores or GPUs that slow down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim, Finding, Kind, Severity, severity_of
from ticktree.analysis.machine import (
    MARGIN_CORES,
    QUANTILE,
    Machine,
    busy_threads,
    is_contended,
    is_oversubscribed,
)
from ticktree.analysis.rules import Facts, finding
from ticktree.analysis.workers.roles import most_processes
from ticktree.profile import Gauge
from ticktree.profile.histogram import middle_of
from ticktree.profile.machine import gpus

# A loss of a twentieth of all time is larger than most differences that people measure.
STEAL_SHARE = 0.05

# Cores that clock up and down with their load differ by a tenth from second to second.
SLOW_FACTOR = 0.85
# In a fifth of the run, it is no brief disturbance.
SLOW_SHARE = 0.2
# In the first ten seconds a core may still be raising its clock.
MIN_READINGS = 10
# The best speed is the one that a tenth of the readings reached: a single reading may be wrong.
_BEST_SPEED = 0.9
# Throttling events per second, in the worst tenth of the seconds: most seconds have none.
_THROTTLED = 0.9

# Environment variables for the number of threads that libraries start for one operation.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# The section of gymnasium's instrument for the wait for an AsyncVectorEnv's workers.
VECTOR_WAIT = "step_wait"
# A gauge of torch's instrument: it exists if the program uses torch.
COMPILED_GAUGE = "torch/compiled"


def _measurement(rule: str, severity: Severity, facts: Facts) -> Finding:
    return finding(rule, "", facts, kind="measurement", severity=severity)


class ContendedRule:
    """Other processes, or the hypervisor, take the cores that the run needs.

    Finds a run that could not use its cores because of others; see docs/rules/contended.md.
    """

    name: ClassVar[str] = "contended"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for other processes, unless the run has more threads than it needs, and one for steal."""
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
                "cores": machine.cores,
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

    `waiting` is a share of the time in which threads could have run; they ran on `used` cores on average.
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
        """Yield one finding if threads waited in the median second and the run had more threads than cores."""
        machine = Machine(context.profile)
        used, waiting = machine.typical("used"), machine.typical("waiting")
        if not machine.is_one or used is None or waiting is None or not is_oversubscribed(machine):
            return
        # With no more threads than cores, other processes are the cause, and on an idle machine nothing is wrong.
        threads, cores = busy_threads(used, waiting), machine.cores or 0
        is_alone = threads > cores + MARGIN_CORES
        settings = _thread_settings(context)
        # Threads of one library spin while they wait for each other; with fewer of any other threads, or workers, the
        # same work remains.
        may_spin = settings["threads_per_library"] == "many" and settings["processes"] in (0, 1)
        facts: Facts = {
            "busy_threads": threads,
            "cores": cores,
            "waiting_share": waiting,
            "cores_used": used,
            "cores_used_by_others": machine.typical("others") or 0.0,
            "readings": gauge.count if (gauge := machine.gauge("waiting")) else 0,
            **settings,
            **_vector_workers(context, machine),
        }
        # Alone on all cores, the same threads would wait this much for each other; other processes cause the rest.
        claim = Claim(min(waiting, 1 - cores / threads)) if is_alone and may_spin else None
        kind: Kind = "recommendation" if is_alone else "measurement"
        yield finding(self.name, "", facts, claim, kind=kind, severity=severity_of(waiting))


def _vector_workers(context: Context, machine: Machine) -> Facts:
    """Return how many workers an AsyncVectorEnv may have, if the run has one and more processes than cores."""
    root, processes = context.profile.root, {thread.process for thread in context.profile.threads.values()}
    workers = len(processes) - 1
    if workers <= (machine.cores or 0):
        return {}
    waits = any(node.wait and node.name == VECTOR_WAIT for _, _, node in root.walk())
    return {"vector_workers": workers} if waits else {}


def _thread_settings(context: Context) -> Facts:
    """Return the facts that decide between remedies: settings that exist already, and what the run uses."""
    metadata = context.profile.metadata
    values = {name: metadata[f"env.{name}"] for name in _THREAD_VARIABLES if metadata.get(f"env.{name}")}
    facts: Facts = {
        "processes": most_processes(context.profile),
        "uses_torch": COMPILED_GAUGE in context.profile.gauges,
        "threads_per_library": "one"
        if any(str(setting) == "1" for settings in values.values() for setting in settings)
        else "many",
    }
    if values:
        name = next(iter(values))
        facts |= {"variable": name, "variable_value": ", ".join(map(str, values[name]))}
    return facts


class ThrottledRule:
    """The cores became slower during the run, or a GPU was slowed down because of its heat or its power.

    Finds a machine that did not keep its speed; see docs/rules/throttled.md.
    """

    name: ClassVar[str] = "throttled"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for cores that were slowed down by heat or were slow for long, and one for each slow GPU."""
        machine = Machine(context.profile)
        if machine.is_one:
            yield from self._cores(machine)
            for number, readings in gpus(context.profile.gauges).items():
                yield from self._gpu(number, readings)

    def _gpu(self, number: int, readings: Mapping[str, Gauge]) -> Iterator[Finding]:
        slowed = readings.get("slowed")
        if slowed is None or slowed.count < MIN_READINGS:
            return
        share = (slowed.count - slowed.zeros) / slowed.count
        if share >= SLOW_SHARE:
            facts: Facts = {"gpu": str(number), "slowed_share": share, "readings": slowed.count}
            yield _measurement(self.name, "warning", facts)

    def _cores(self, machine: Machine) -> Iterator[Finding]:
        speed, events = machine.gauge("frequency"), machine.gauge("throttled")
        slow = None if speed is None else _slow_cores(speed)
        events_per_s = None if events is None else events.quantile(_THROTTLED)
        if slow is None and not events_per_s:
            return
        facts: Facts = {}
        severity: Severity = "warning"
        if slow is not None:
            share, best, mean = slow
            lost_share = share * (1 - mean / best)
            severity = severity_of(lost_share)
            facts |= {"slow_share": share, "lost_share": lost_share, "best_mhz": best, "slow_mhz": mean}
        yield _measurement(self.name, severity, {**facts, "slow_downs_per_s": events_per_s or None})


def _slow_cores(speed: Gauge) -> tuple[float, float, float] | None:
    """Return the share of slow readings, the best speed, and the mean of slow readings; None if few are slow."""
    best = speed.quantile(_BEST_SPEED)
    if best is None or speed.count < MIN_READINGS:
        return None
    slow_buckets = {
        bucket: count
        for bucket, count in speed.positive.buckets.items()
        if middle_of(bucket) < SLOW_FACTOR * best
    }
    slow_count = sum(slow_buckets.values())
    if slow_count < SLOW_SHARE * speed.filed:
        return None
    mean = sum(middle_of(bucket) * count for bucket, count in slow_buckets.items()) / slow_count
    return slow_count / speed.filed, best, mean
