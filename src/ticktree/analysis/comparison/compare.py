"""Comparing: two sides, an entry for every node and loop that either has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ticktree.analysis.comparison import shift, welch
from ticktree.analysis.comparison.entry import THRESHOLD, About, ComparisonEntry, about, verdict_of
from ticktree.analysis.comparison.matching import moved, renames
from ticktree.analysis.comparison.power import Power, power_of_pairs
from ticktree.analysis.comparison.shift import Shift
from ticktree.analysis.comparison.sides import Side
from ticktree.errors import TicktreeError
from ticktree.profile import Profile, Stats

SCHEMA = "ticktree-comparison/1"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every entry, loops first, then nodes in the order of the tree.

    Attributes:
        entries: one for each loop and node that either side has.
        threshold: the least shift that matters, as a part of 1.
        unit: what the intervals rest on: runs, pairs of runs, or blocks of one run.
        base: the runs on that side.
        new: those on the other.
    """

    entries: tuple[ComparisonEntry, ...]
    threshold: float
    unit: Literal["runs", "pairs", "blocks"]
    base: About = field(default_factory=About)
    new: About = field(default_factory=About)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as `compare --format json` gives it."""
        return {
            "schema": SCHEMA,
            "threshold_percent": 100 * self.threshold,
            "unit": self.unit,
            "base": self.base.to_dict(),
            "new": self.new.to_dict(),
            "entries": [entry.to_dict() for entry in self.entries],
        }


def compare(
    base: Sequence[Profile],
    new: Sequence[Profile],
    *,
    threshold: float = THRESHOLD,
    paired: bool = False,
    confidence: float = shift.CONFIDENCE,
) -> Comparison:
    """What is faster, slower, no different, or cannot be told.

    Args:
        base: Runs to compare with.
        new: Runs to compare.
        threshold: The least shift that matters, as a part of 1.
        paired: Whether the n-th runs of both sides were measured side by side.
        confidence: How often an interval holds the true shift, and all alarms together are right.

    Raises:
        TicktreeError: One side measured nothing: that is no comparison, and must not look like "no difference".
    """
    old = Side(base)
    young = Side(new, moved([run.root for run in base], [run.root for run in new]))
    for side, name in ((old, "base"), (young, "new")):
        if not side.paths:
            raise TicktreeError(f"nothing was measured in {name}: there is nothing to compare")
    unit: Literal["runs", "pairs", "blocks"] = "pairs" if paired else "runs"
    if len(base) == 1 or len(new) == 1:
        unit = "blocks"
    judge = _Judge(old, young, unit, threshold, confidence)
    nodes = judge.entries("node", _in_tree_order(old, young))
    loops = judge.entries("loop", sorted(old.loops | young.loops))
    entries = tuple(_held_to_account([*loops, *_named(nodes, old, young)], judge))
    return Comparison(entries, threshold, unit, about(base), about(new))


class _Judge:
    def __init__(self, old: Side, young: Side, unit: str, threshold: float, confidence: float) -> None:
        self.old, self.young, self.unit, self.threshold = old, young, unit, threshold
        self.confidence = confidence
        self._known: dict[str, tuple[list[float], list[float]]] = {}

    def entries(self, kind: Literal["node", "loop"], paths: Sequence[str]) -> list[ComparisonEntry]:
        return [self._entry(kind, path) for path in paths]

    def p_value(self, path: str) -> float:
        """How probable the two sides' values were, were there no difference."""
        before, after = self._values(path)
        if not before or not after:  # a run too short for blocks
            return 1.0
        if self.unit == "pairs" and len(before) == len(after):
            return welch.contrast_of_pairs(before, after).p_value
        if self.unit == "blocks":
            return welch.contrast_of_runs(before, after).p_value
        return welch.contrast(before, after).p_value

    def power(self, path: str, level: float) -> Power | None:
        """What the pairs could have found, where one section alone may be wrong so often."""
        before, after = self._values(path)
        return (
            power_of_pairs(before, after, level)
            if self.unit == "pairs" and len(before) == len(after)
            else None
        )

    def _entry(self, kind: Literal["node", "loop"], path: str) -> ComparisonEntry:
        old, young = self._stats(kind, path)
        rates = self.old.rates(kind, path), self.young.rates(kind, path)
        if not old.count or not young.count:
            verdict: Literal["only in new", "only in base"] = "only in new" if young.count else "only in base"
            return ComparisonEntry(
                path=path, kind=kind, verdict=verdict, shift=None, base=old, new=young, rates=rates
            )
        before, after = self._values(path)
        moved = self._shift(before, after, old, young)
        return ComparisonEntry(
            path=path,
            kind=kind,
            verdict=verdict_of(moved, self.threshold),
            shift=moved,
            base=old,
            new=young,
            units=(len(before), len(after)),
            rates=rates,
        )

    def _stats(self, kind: Literal["node", "loop"], path: str) -> tuple[Stats, Stats]:
        if kind == "loop":
            return self.old.loop_stats(path), self.young.loop_stats(path)
        return self.old.stats(path), self.young.stats(path)

    def _values(self, path: str) -> tuple[list[float], list[float]]:
        """Of both sides, worked out once: a loop's ticks are the calls of its node, and the guard asks again."""
        if path not in self._known:
            before, after = (
                side.block_means(path) if self.unit == "blocks" else side.run_means(path)
                for side in (self.old, self.young)
            )
            self._known[path] = before, after
        return self._known[path]

    def _shift(self, before: list[float], after: list[float], old: Stats, young: Stats) -> Shift:
        if not before or not after:  # a run too short for blocks: the means are all there is
            return Shift(young.sum_ns / max(1, old.sum_ns) * old.count / young.count - 1, -1.0, float("inf"))
        if self.unit == "pairs" and len(before) == len(after):
            return shift.within_pairs(before, after, self.confidence)
        if self.unit == "blocks":
            return shift.of_contrast(welch.contrast_of_runs(before, after), self.confidence)
        return shift.between(before, after, self.confidence)


def _in_tree_order(old: Side, young: Side) -> list[str]:
    """Every path that either side measured, parents before children, children together."""
    paths = {path for path in old.paths | young.paths if path}
    return sorted(paths, key=lambda path: path.replace("/", "\0"))


def _named(nodes: list[ComparisonEntry], old: Side, young: Side) -> list[ComparisonEntry]:
    """Marks what vanished under one name and appeared under another."""
    gone = [entry.path for entry in nodes if entry.verdict == "only in base"]
    come = [entry.path for entry in nodes if entry.verdict == "only in new"]
    pairs = renames(gone, come, old.node, young.node)
    names = {**pairs, **{new: base for base, new in pairs.items()}}
    return [replace(entry, renamed=names.get(entry.path, "")) for entry in nodes]


def _held_to_account(entries: list[ComparisonEntry], judge: _Judge) -> list[ComparisonEntry]:
    """Takes back what could be chance, among so many entries: all alarms together are wrong in 5% of comparisons.

    A loop's ticks are the calls of its node: the two entries are one question, and are counted once.
    """
    paths = list(dict.fromkeys(entry.path for entry in entries if entry.shift is not None))
    kept = welch.stand_out([judge.p_value(path) for path in paths], 1 - judge.confidence)
    sound = {path for path, stands in zip(paths, kept, strict=True) if stands}
    held = [
        replace(entry, verdict="inconclusive")
        if entry.verdict in ("faster", "slower") and entry.path not in sound
        else entry
        for entry in entries
    ]
    level = (1 - judge.confidence) / max(1, len(paths))
    return [
        replace(entry, power=judge.power(entry.path, level)) if entry.verdict == "inconclusive" else entry
        for entry in held
    ]
