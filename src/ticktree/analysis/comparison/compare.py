"""Compare: two sides, with one entry per node and loop that either has."""

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
    """The result of a comparison.

    Attributes:
        entries: one per loop and node that either side has: loops first, then nodes in the order of the tree.
        threshold: the least shift that matters, as a part of 1.
        unit: the independent values behind the intervals: runs, pairs of runs, or blocks of one run.
        base: the runs of the base.
        new: the new runs.
    """

    entries: tuple[ComparisonEntry, ...]
    threshold: float
    unit: Literal["runs", "pairs", "blocks"]
    base: About = field(default_factory=About)
    new: About = field(default_factory=About)

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `compare --format json`."""
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
    """Return the verdict on every loop and node.

    Args:
        base: Runs to compare with.
        new: Runs to compare.
        threshold: The least shift that matters, as a part of 1.
        paired: Whether the n-th runs of both sides were measured as a pair.
        confidence: How often an interval contains the true shift, and how often all alarms together are right.

    Raises:
        TicktreeError: One side measured nothing, which must not look like "no difference".
    """
    base_side = Side(base)
    new_side = Side(new, moved([run.root for run in base], [run.root for run in new]))
    for side, name in ((base_side, "base"), (new_side, "new")):
        if not side.paths:
            raise TicktreeError(f"nothing was measured in {name}: there is nothing to compare")
    unit: Literal["runs", "pairs", "blocks"] = "pairs" if paired else "runs"
    if len(base) == 1 or len(new) == 1:
        unit = "blocks"
    judge = _Judge(base_side, new_side, unit, threshold, confidence)
    nodes = judge.entries("node", _in_tree_order(base_side, new_side))
    loops = judge.entries("loop", sorted(base_side.loops | new_side.loops))
    entries = tuple(_corrected([*loops, *_with_renames(nodes, base_side, new_side)], judge))
    return Comparison(entries, threshold, unit, about(base), about(new))


class _Judge:
    def __init__(self, base: Side, new: Side, unit: str, threshold: float, confidence: float) -> None:
        self.base, self.new, self.unit, self.threshold = base, new, unit, threshold
        self.confidence = confidence
        self._cache: dict[str, tuple[list[float], list[float]]] = {}

    def entries(self, kind: Literal["node", "loop"], paths: Sequence[str]) -> list[ComparisonEntry]:
        return [self._entry(kind, path) for path in paths]

    def p_value(self, path: str) -> float:
        """Return how probable the two sides' values are if there is no difference."""
        before, after = self._values(path)
        if not before or not after:  # a run too short for blocks
            return 1.0
        if self.unit == "pairs" and len(before) == len(after):
            return welch.contrast_of_pairs(before, after).p_value
        if self.unit == "blocks":
            return welch.contrast_of_runs(before, after).p_value
        return welch.contrast(before, after).p_value

    def power(self, path: str, level: float) -> Power | None:
        """Return what the pairs could have detected, with error rate `level` for this one section."""
        before, after = self._values(path)
        return (
            power_of_pairs(before, after, level)
            if self.unit == "pairs" and len(before) == len(after)
            else None
        )

    def _entry(self, kind: Literal["node", "loop"], path: str) -> ComparisonEntry:
        base, new = self._stats(kind, path)
        rates = self.base.rates(kind, path), self.new.rates(kind, path)
        if not base.count or not new.count:
            verdict: Literal["only in new", "only in base"] = "only in new" if new.count else "only in base"
            return ComparisonEntry(
                path=path, kind=kind, verdict=verdict, shift=None, base=base, new=new, rates=rates
            )
        before, after = self._values(path)
        shift = self._shift(before, after, base, new)
        return ComparisonEntry(
            path=path,
            kind=kind,
            verdict=verdict_of(shift, self.threshold),
            shift=shift,
            base=base,
            new=new,
            units=(len(before), len(after)),
            rates=rates,
        )

    def _stats(self, kind: Literal["node", "loop"], path: str) -> tuple[Stats, Stats]:
        if kind == "loop":
            return self.base.loop_stats(path), self.new.loop_stats(path)
        return self.base.stats(path), self.new.stats(path)

    def _values(self, path: str) -> tuple[list[float], list[float]]:
        """Return both sides' values; cached, because a loop shares its node's and the correction needs them again."""
        if path not in self._cache:
            before, after = (
                side.block_means(path) if self.unit == "blocks" else side.run_means(path)
                for side in (self.base, self.new)
            )
            self._cache[path] = before, after
        return self._cache[path]

    def _shift(self, before: list[float], after: list[float], base: Stats, new: Stats) -> Shift:
        if not before or not after:  # a run too short for blocks: only the means are known
            return Shift(new.sum_ns / max(1, base.sum_ns) * base.count / new.count - 1, -1.0, float("inf"))
        if self.unit == "pairs" and len(before) == len(after):
            return shift.within_pairs(before, after, self.confidence)
        if self.unit == "blocks":
            return shift.of_contrast(welch.contrast_of_runs(before, after), self.confidence)
        return shift.between(before, after, self.confidence)


def _in_tree_order(base: Side, new: Side) -> list[str]:
    """Return every path that either side measured, parents before children, siblings together."""
    paths = {path for path in base.paths | new.paths if path}
    return sorted(paths, key=lambda path: path.replace("/", "\0"))


def _with_renames(nodes: list[ComparisonEntry], base: Side, new: Side) -> list[ComparisonEntry]:
    """Return the entries, with the new name of nodes that vanished and the old name of nodes that appeared."""
    removed = [entry.path for entry in nodes if entry.verdict == "only in base"]
    added = [entry.path for entry in nodes if entry.verdict == "only in new"]
    pairs = renames(removed, added, base.node, new.node)
    names = {**pairs, **{after: before for before, after in pairs.items()}}
    return [replace(entry, renamed=names.get(entry.path, "")) for entry in nodes]


def _corrected(entries: list[ComparisonEntry], judge: _Judge) -> list[ComparisonEntry]:
    """Correct the verdicts for the number of entries: all alarms together are wrong in 5% of comparisons.

    A loop's ticks are the calls of its node, so the two entries count as one test.
    """
    paths = list(dict.fromkeys(entry.path for entry in entries if entry.shift is not None))
    rejections = welch.holm([judge.p_value(path) for path in paths], 1 - judge.confidence)
    significant = {path for path, rejects in zip(paths, rejections, strict=True) if rejects}
    corrected = [
        replace(entry, verdict="inconclusive")
        if entry.verdict in ("faster", "slower") and entry.path not in significant
        else entry
        for entry in entries
    ]
    level = (1 - judge.confidence) / max(1, len(paths))
    return [
        replace(entry, power=judge.power(entry.path, level)) if entry.verdict == "inconclusive" else entry
        for entry in corrected
    ]
