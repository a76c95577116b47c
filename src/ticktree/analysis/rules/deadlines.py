"""Rules about ticks that are late or unlike the others: missed deadlines, fixed sleeps, spikes, too few ticks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import ClassVar, NamedTuple

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim, Fact, Finding, Kind, severity_of_missed
from ticktree.analysis.loops import MIN_TICKS, MISSES_SHARE, PRECISE_SHARE, LoopView
from ticktree.analysis.machine import Machine, doubt_of
from ticktree.analysis.rules import Facts, finding
from ticktree.analysis.sampled import dominant_line_elsewhere, sampled_times
from ticktree.analysis.tick_causes import EXPLAINED_SHARE, FAULT_NS, MissedTicks, missed_ticks, usual_per_tick
from ticktree.profile import Causes, Loop, Node
from ticktree.profile import path as paths
from ticktree.profile.histogram import middle_of
from ticktree.profile.loop import WorstTick

# Ticks that are preempted less often were late for another reason. Our own choice.
PREEMPTED_SHARE = 0.5
# A thread misses ticks because it loses its core if that happened once per missed tick, and this many times as often
# as in other ticks.
SWITCHES_FACTOR = 2.0

# A controller notices a tick that begins this late, as a share of its budget. Our own choice.
LATE_WAKE_SHARE = 0.5
# The share of its sleep in which samples must show that it could run but did not have the interpreter.
MIN_LATE_SHARE = 0.05
# A thread that sleeps once per tick gives up its core once per tick; a few ticks may be exceptions.
SLEEPS_PER_TICK = 0.9

# A tick that takes this many times the median is more than scatter. Our own choice, as all of these.
SPIKE_FACTOR = 5.0
# Where more ticks are long, the loop has two kinds of ticks; fewer than three may be chance.
MAX_SPIKES_SHARE = 0.05
MIN_SPIKES = 3
MIN_SPIKE_TICKS = 50
# They must cost a twentieth of the loop's time.
MIN_LOST_SHARE = 0.05
# The section is called in the other ticks too: an update every hundredth tick is intended, not a spike.
USUAL_CALLS = 0.5

# Pauses of the garbage collector explain long ticks if they are this share of the ticks' time beyond the median.
GC_SHARE = 0.5
# What the system does to a thread, by the name of the fact about it.
_SYSTEM_CAUSES = {
    "gc_pause_ns": "gc",
    "preemptions": "preemption",
    "pages_read": "disk",
    "pages_touched": "page faults",
}

# The required probability that the longest of n ticks is above a percentile; see `ticks_for`.
CONFIDENCE = 0.95
PERCENTILES = (0.5, 0.9, 0.99)


class MissedDeadlineRule:
    """A loop misses its budget: how often, and what takes longer in the missed ticks.

    Finds each loop that misses its budget more than once in a thousand ticks; see docs/rules/missed-deadline.md.
    """

    name: ClassVar[str] = "missed-deadline"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield the loops that miss ticks, the one with the largest share of missed ticks first."""
        machine = Machine(context.profile)
        for missed in missed_ticks(context.profile):
            loop = missed.loop
            if loop.budget_ns is None or loop.stats.count < MIN_TICKS or missed.share < MISSES_SHARE:
                continue
            view = context.view_of(loop.path)
            if view is not None and view.is_paced_unseen:
                continue
            doubt = (doubt_of(machine) or None) if _may_lack_cores(missed, machine) else None
            facts: Facts = {
                "missed": loop.missed,
                "ticks": loop.stats.count,
                "missed_share": round(missed.share, 6),
                "longest_run": loop.longest_miss_run,
                "budget_ns": loop.budget_ns,
                **_lateness(loop),
                **(_differences(missed) if missed.kept else _busy_time(missed)),
                "doubt": doubt,
            }
            kind: Kind = "measurement" if doubt else "recommendation"
            yield finding(self.name, loop.path, facts, kind=kind, severity=severity_of_missed(missed.share))


def _may_lack_cores(missed: MissedTicks, machine: Machine) -> bool:
    """Return whether ticks may have been missed only because their thread waited for a core.

    A thread that was never preempted did not wait; and if all ticks are missed, a free core would not help.
    """
    if not missed.kept:
        busy_ns, budget_ns = missed.busy.missed_ns if missed.busy else 0.0, missed.loop.budget_ns or 0
        return busy_ns * (1 - (machine.typical("waiting") or 0.0)) <= budget_ns
    causes = missed.loop.missed_causes
    return causes is None or causes.involuntary_switches >= PREEMPTED_SHARE * causes.ticks


def _lateness(loop: Loop) -> Facts:
    lateness = loop.lateness
    if lateness is None or lateness.mean_ns is None:
        return {}
    return {"mean_lateness_ns": lateness.mean_ns, "max_lateness_ns": lateness.max_ns}


def _busy_time(missed: MissedTicks) -> Facts:
    """Return the facts about the ticks of a loop that misses all of them."""
    facts: Facts = {}
    if missed.busy is not None:
        facts["busy_per_tick_ns"] = missed.busy.missed_ns
        if missed.largest is not None and missed.largest.missed_ns > 0:
            facts |= {"section": missed.largest.path, "in_missed_ticks_ns": missed.largest.missed_ns}
    return facts


def _differences(missed: MissedTicks) -> Facts:
    """Return what was different in missed ticks: the time of sections, and what the system did."""
    facts: Facts = {}
    for prefix, cost in zip(("", "second_"), missed.blamed[:2], strict=False):
        facts |= {
            f"{prefix}section": cost.path,
            f"{prefix}in_missed_ticks_ns": cost.missed_ns,
            f"{prefix}in_kept_ticks_ns": cost.kept_ns,
        }
    facts |= dict(_system_causes(missed))
    causes = [name for key, name in _SYSTEM_CAUSES.items() if key in facts]
    if any("compil" in paths.name_of(cost.path).lower() for cost in missed.blamed):
        causes.append("compiling")
    if causes:
        facts["cause"] = ", ".join(causes)
    return facts


def _system_causes(missed: MissedTicks) -> Iterator[tuple[str, Fact]]:
    """Yield what the system did to the thread more often, or for longer, in missed ticks than in others."""
    causes = missed.causes()
    if causes is None or missed.busy is None or missed.busy.excess_ns <= 0:
        return
    in_missed, in_kept = causes
    min_ns = EXPLAINED_SHARE * missed.busy.excess_ns
    gc_ns = in_missed.gc_ns / missed.loop.missed - (in_kept.gc_ns / missed.kept if missed.kept else 0.0)
    if gc_ns >= min_ns:
        yield "gc_pause_ns", gc_ns
    preemptions = in_missed.involuntary_switches / in_missed.ticks
    usual = in_kept.involuntary_switches / in_kept.ticks
    if preemptions >= 1 and preemptions >= SWITCHES_FACTOR * usual:
        yield "preemptions", preemptions
        yield "usual_preemptions", usual
    pages_read = _excess(in_missed, in_kept, "major_faults")
    if pages_read >= 1:
        yield "pages_read", pages_read
    pages_touched = _excess(in_missed, in_kept, "minor_faults")
    if pages_touched * FAULT_NS >= min_ns:
        yield "pages_touched", pages_touched


def _excess(in_missed: Causes, in_kept: Causes, cause: str) -> float:
    amount: int = getattr(in_missed, cause)
    usual: int = getattr(in_kept, cause)
    return amount / in_missed.ticks - usual / in_kept.ticks


class LateWakeRule:
    """A loop that sleeps until its ticks are due wakes up late, though it has time to spare.

    Finds each loop that begins one tick in a hundred late by half a budget; see docs/rules/late-wake.md.
    """

    name: ClassVar[str] = "late-wake"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop that holds its rate but wakes late; a measurement if the reason is unknown."""
        samples, times = context.profile.samples, sampled_times(context.profile)
        for view in context.main_loops:
            if view.loop is None or not view.loop.budget_ns or not view.slack_ns or view.fails:
                continue
            p99_ns, budget_ns = view.loop.stats.p99_ns or 0, view.loop.budget_ns
            if view.ticks < ticks_for(0.99) or p99_ns < (1 + LATE_WAKE_SHARE) * budget_ns:
                continue
            facts: Facts = {
                "p99_ns": p99_ns,
                "budget_ns": budget_ns,
                "busy_per_tick_ns": round(view.busy_ns),
            }
            sections = {section.path: section for section in view.sections}
            asleep = [time for path, time in times.items() if path in sections and sections[path].is_slack]
            waits_for_gil = any(time.states().get("gil", 0.0) >= MIN_LATE_SHARE for time in asleep)
            holder = (
                dominant_line_elsewhere(samples, sections) if samples is not None and waits_for_gil else None
            )
            if holder is not None:
                facts |= {"function": holder.function, "line": holder.place}
            kind: Kind = "recommendation" if holder is not None else "measurement"
            yield finding(self.name, view.path, facts, kind=kind, severity="warning")


class FixedSleepRule:
    """A loop sleeps a fixed time in each tick and so does not hold its rate.

    Finds each loop that would hold its rate if it slept only for the rest of a tick; see docs/rules/fixed-sleep.md.
    """

    name: ClassVar[str] = "fixed-sleep"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop whose ticks are too long by less than their sleep."""
        for view in context.loops:
            loop = view.loop
            if loop is None or loop.budget_ns is None or view.ticks < MIN_TICKS:
                continue
            over_ns, slept_ns = view.tick_ns - loop.budget_ns, _slept_ns(view)
            busy_ns = view.tick_ns - slept_ns
            # A few late ticks make the mean long; a fixed sleep makes all ticks long.
            if not view.lags or slept_ns < over_ns or busy_ns > loop.budget_ns:
                continue
            facts: Facts = {
                "tick_ns": view.tick_ns,
                "budget_ns": loop.budget_ns,
                "busy_per_tick_ns": busy_ns,
                "slept_per_tick_ns": slept_ns,
                "ticks": view.ticks,
            }
            yield finding(self.name, view.path, facts, Claim(over_ns / view.tick_ns, view.path))


def _slept_ns(view: LoopView) -> float:
    """Return the sleep of a tick: as recorded, or its self time if its thread gives up its core in each tick."""
    if view.slack_ns or view.loop is None:
        calls = sum(section.calls for section in view.sections if section.is_slack)
        # A loop that sleeps less often sleeps for the rest of a tick, if there is any.
        return view.slack_ns if calls >= SLEEPS_PER_TICK else 0.0
    switches = usual_per_tick(view.loop, "voluntary_switches")
    sleeps = switches is not None and switches >= SLEEPS_PER_TICK
    return view.sections[0].self_ns if sleeps else 0.0


class _Spikes(NamedTuple):
    """The ticks that take far longer than the others: their number, lost time, and those with a breakdown."""

    long_ticks: int
    lost_ns: float
    worst: Sequence[WorstTick]


class SpikesRule:
    """A few ticks of a loop without a rate take far longer than the others, because of one section.

    Finds each loop without a rate in which one section is long now and then; see docs/rules/spikes.md.
    """

    name: ClassVar[str] = "spikes"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such loop, unless the run lacks cores."""
        if doubt_of(Machine(context.profile)):
            return
        for view in context.loops:
            spikes = _spikes(view)
            if spikes is not None and (path := _slow_section(view, spikes, context)) is not None:
                yield self._finding(view, spikes, path, context.profile.root.at(path))

    def _finding(self, view: LoopView, spikes: _Spikes, path: str, node: Node) -> Finding:
        facts: Facts = {
            "long_ticks": spikes.long_ticks,
            "ticks": view.ticks,
            "in_long_ticks_ns": fmean(tick.breakdown.get(path, 0) for tick in spikes.worst),
            "in_other_ticks_ns": _usual_ns(view, node),
            "one_in_ticks": _period(spikes.worst),
        }
        return finding(self.name, path, facts, Claim(spikes.lost_ns / (view.tick_ns * view.ticks), view.path))


def _spikes(view: LoopView) -> _Spikes | None:
    loop = view.loop
    if loop is None or loop.hz or view.ticks < MIN_SPIKE_TICKS or not loop.stats.p50_ns:
        return None
    min_ns = SPIKE_FACTOR * loop.stats.p50_ns
    long_ticks = {
        middle_of(bucket): count
        for bucket, count in loop.stats.histogram.buckets.items()
        if middle_of(bucket) >= min_ns
    }
    count = sum(long_ticks.values())
    lost_ns = sum((tick_ns - loop.stats.p50_ns) * ticks for tick_ns, ticks in long_ticks.items())
    worst = [tick for tick in loop.worst if tick.duration_ns >= min_ns]
    if not MIN_SPIKES <= count <= MAX_SPIKES_SHARE * view.ticks or len(worst) < MIN_SPIKES:
        return None
    return _Spikes(count, lost_ns, worst) if lost_ns >= MIN_LOST_SHARE * loop.stats.sum_ns else None


def _slow_section(view: LoopView, spikes: _Spikes, context: Context) -> str | None:
    """Return the deepest section that explains most of the long ticks; None if none does."""
    paths_in_ticks = {path for tick in spikes.worst for path in tick.breakdown} - {view.path}
    nodes = {path: node for path in paths_in_ticks if (node := context.profile.root.find(path)) is not None}
    median_ns = view.loop.stats.p50_ns or 0 if view.loop else 0
    excess_ns = sum(tick.duration_ns - median_ns for tick in spikes.worst)
    if sum(tick.causes.get("gc_ns", 0) for tick in spikes.worst) >= GC_SHARE * excess_ns:
        return None  # the rule garbage-collection reports that, and what to do
    explaining = [
        path
        for path, node in nodes.items()
        if sum(tick.breakdown.get(path, 0) - _usual_ns(view, node) for tick in spikes.worst)
        >= PRECISE_SHARE * excess_ns
    ]
    path = max(explaining, key=lambda path: (len(paths.split(path)), path), default=None)
    if path is None or nodes[path].wait or view.stats_of(nodes[path]).count < USUAL_CALLS * view.ticks:
        return None
    return path


def _usual_ns(view: LoopView, node: Node) -> float:
    """Return a node's time in a usual tick: its median call times its calls per tick."""
    stats = view.stats_of(node)
    return (stats.p50_ns or 0) * stats.count / view.ticks


def _period(worst: Sequence[WorstTick]) -> int | None:
    """Return the period of long ticks; None if it varies, or if several threads run the loop."""
    numbers = sorted(tick.tick for tick in worst)
    distances = {after - before for before, after in pairwise(numbers)}
    is_regular = len({tick.thread for tick in worst}) == 1 and len(distances) == 1
    return distances.pop() if is_regular else None


class TooFewTicksRule:
    """Too few ticks were recorded for the percentiles that are shown.

    Finds each loop with too few ticks for its statistics; see docs/rules/too-few-ticks.md.
    """

    name: ClassVar[str] = "too-few-ticks"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop with too few steady ticks for its p90; with a rate to hold, for its p99."""
        for loop in context.profile.loops.values():
            ticks = loop.stats.count
            needed = ticks_for(PERCENTILES[2] if loop.hz else PERCENTILES[1])
            if not loop.ticks or ticks >= needed:
                continue
            percentile = next(quantile for quantile in PERCENTILES if ticks < ticks_for(quantile))
            facts: Facts = {
                "steady_ticks": ticks,
                "warmup_ticks": loop.warmup_ticks,
                "percentile": round(100 * percentile),
                "needed_ticks": ticks_for(percentile),
            }
            yield finding(self.name, loop.path, facts, kind="measurement")


def ticks_for(quantile: float) -> int:
    """Return how many ticks a quantile needs: with fewer, all of them may well be below it.

    All of n independent ticks are below it with probability quantile ** n, and then every estimate of the percentile
    is too small. With 1 - quantile ** n >= 95% that is unlikely: S. S. Wilks, "Determination of sample sizes for
    setting tolerance limits", Annals of Mathematical Statistics 12 (1941): 5 ticks for the median, 29 for p90, 299 for
    p99. Correlated ticks carry less information, so these numbers are minimums.
    """
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(quantile))
