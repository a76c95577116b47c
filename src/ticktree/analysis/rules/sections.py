"""Rules about large sections: much of a tick, long calls, writes that wait for the disk, evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.bottlenecks import Bottleneck
from ticktree.analysis.context import Context
from ticktree.analysis.finding import MIN_SAVING_SHARE, Claim, Finding, Thresholds
from ticktree.analysis.rules import Facts, finding, longest
from ticktree.analysis.section_kinds import EVALUATION, per_tick_ns, sections_of_kind

# A smaller share of a tick is not worth a line, however long the call. Our own choice.
TRIFLE_SHARE = 0.05

# The sections of the instrument `disk`: functions that wait until written data is on the disk.
DISK_SECTIONS = frozenset({"os.fsync", "os.fdatasync", "os.sync"})
# Fewer are occasional checkpoints, which a run needs in order to continue after a crash. Our own choice.
MIN_SYNCS = 10

# A curve of a training's progress is worth some of its time. Our own choice.
EVALUATED_SHARE = 0.2
# Fewer may be only at its beginning and end.
MIN_EVALUATIONS = 3


class CriticalRule:
    """A single section takes a large share of a loop's tick.

    Finds each section whose self time is more than 30% of its loop's tick; see docs/rules/critical.md.
    """

    name: ClassVar[str] = "critical"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such section, loop by loop."""
        for bottleneck in context.bottlenecks:
            if _is_critical(bottleneck, context.settings.thresholds):
                yield _finding(self.name, bottleneck)


class SlowRule:
    """A single call of a section takes long.

    Finds each section whose mean call has more than 100 ms of self time; see docs/rules/slow.md.
    """

    name: ClassVar[str] = "slow"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such section without a stronger finding about its share of the tick."""
        thresholds = context.settings.thresholds
        for bottleneck in context.bottlenecks:
            call_ns = bottleneck.call_ns
            if call_ns is None or call_ns <= thresholds.slow_ns or not _is_work(bottleneck):
                continue
            if not _is_critical(bottleneck, thresholds) and not _is_trifle(bottleneck, call_ns):
                yield _finding(self.name, bottleneck)


class BlockingWritesRule:
    """A loop waits for the disk.

    Finds each loop that writes files out to the disk in its ticks; see docs/rules/blocking-writes.md.
    """

    name: ClassVar[str] = "blocking-writes"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop that calls such functions often, at the node with most of their time."""
        for view in context.loops:
            named = (section for section in view.path_sections if section.name in DISK_SECTIONS)
            syncs = [section for section in named if not section.is_in_wait]
            calls = sum(section.count for section in syncs)
            if view.loop is None or calls < MIN_SYNCS:
                continue
            section = longest(syncs)
            facts: Facts = {
                "section": section.path,
                "calls": calls,
                "per_tick_ns": per_tick_ns(syncs),
                "per_call_ns": section.call_ns,
            }
            yield finding(self.name, section.path, facts, Claim(view.share(per_tick_ns(syncs)), view.path))


class EvaluationRule:
    """A training evaluates its policy for much of its time.

    Finds each main loop that spends a fifth of its time, or more, on evaluations; see docs/rules/evaluation.md.
    """

    name: ClassVar[str] = "evaluation"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such loop, at the longest of its evaluations."""
        for view in context.main_loops:
            evaluations = sections_of_kind(view, EVALUATION, context)
            calls, share = sum(section.count for section in evaluations), view.share(per_tick_ns(evaluations))
            if view.loop is not None and calls >= MIN_EVALUATIONS and share >= EVALUATED_SHARE:
                section = longest(evaluations)
                facts: Facts = {
                    "section": section.path,
                    "calls": calls,
                    "per_call_ns": section.call_ns,
                    "tick_share": share,
                }
                yield finding(self.name, section.path, facts, Claim(share, view.path, spares_gpu=True))


def _is_critical(bottleneck: Bottleneck, thresholds: Thresholds) -> bool:
    """Return whether a section works for a critical share of the tick, but not for all of it, and could save time."""
    saving = bottleneck.saving
    if saving is None or saving.speedup is None or not _is_work(bottleneck):
        return False
    return bottleneck.share > thresholds.critical_share and saving.share >= MIN_SAVING_SHARE


def _is_work(bottleneck: Bottleneck) -> bool:
    """Return whether a section works on the loop's path, and is neither a loop nor time outside all sections."""
    section = bottleneck.section
    return bottleneck.saving is not None and bool(section.path) and not (section.is_wait or section.is_loop)


def _is_trifle(bottleneck: Bottleneck, call_ns: float) -> bool:
    """Return whether a section's calls are a small share of a tick: in a tick of seconds, every layer is slow."""
    view = bottleneck.view
    return view.loop is not None and max(call_ns / view.tick_ns, bottleneck.share) < TRIFLE_SHARE


def _finding(rule: str, bottleneck: Bottleneck) -> Finding:
    view, section = bottleneck.view, bottleneck.section
    calls = round(section.calls * view.ticks)
    facts: Facts = {
        "section": section.path,
        "is_self_time": section.has_sections and not section.is_loop,
        "self_share": bottleneck.share,
        "self_per_tick_ns" if view.loop else "self_in_total_ns": section.self_ns,
        "self_per_call_ns": bottleneck.call_ns,
        "calls": calls if calls > 1 else None,
    }
    claim = Claim(bottleneck.share, view.path)
    return finding(rule, section.path, facts, claim, kind="size")
