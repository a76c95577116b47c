"""Compare: the comparison of two sides, with one entry per node and loop of either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, reduce
from operator import add
from typing import Any, Literal, NamedTuple, TypeAlias

from ticktree.analysis.comparison import shift, welch
from ticktree.analysis.comparison.entry import THRESHOLD, ComparisonEntry, Kind, RunsInfo, about, verdict_of
from ticktree.analysis.comparison.matching import moved_paths, renames
from ticktree.analysis.comparison.power import power_of_pairs
from ticktree.analysis.comparison.shift import Shift
from ticktree.analysis.drift import join_segments, steady_segments
from ticktree.analysis.loops import NS_PER_SECOND
from ticktree.errors import TicktreeError
from ticktree.profile import Node, Profile, Stats
from ticktree.profile import path as paths

SCHEMA = "ticktree-comparison/1"
UnitOf: TypeAlias = Literal["runs", "pairs", "blocks"]
_CONTRASTS = {"runs": welch.contrast, "pairs": welch.contrast_of_pairs, "blocks": welch.contrast_of_runs}

# Blocks: one run's calls as a few values.
#
# Neighbouring ticks are correlated: a test that assumes independence finds a difference between two runs of the same
# program in most trials. So the unit is not the tick but a block of the run (batch means), and the scatter of these
# blocks is the noise of the run. The blocks are few, so that each is long and their scatter includes disturbances that
# last for a while, but enough to estimate the scatter.
BLOCKS = 12


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        entries: one per loop and node of either side: loops first, then nodes in the order of the tree.
        threshold: the minimum shift that matters, as a fraction.
        unit: the independent values behind the intervals: runs, pairs of runs, or blocks of one run.
        base: the runs of the base.
        new: the new runs.
    """

    entries: tuple[ComparisonEntry, ...]
    threshold: float
    unit: UnitOf
    base: RunsInfo = field(default_factory=RunsInfo)
    new: RunsInfo = field(default_factory=RunsInfo)

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
        threshold: The minimum shift that matters, as a fraction.
        paired: Whether the n-th runs of both sides were measured as a pair.
        confidence: How often an interval contains the true shift, and how often all alarms together are right.

    Raises:
        TicktreeError: One side measured nothing, which must not look like "no difference".
    """
    base_side = Side(base)
    new_side = Side(new, moved_paths([run.root for run in base], [run.root for run in new]))
    for side, name in ((base_side, "base"), (new_side, "new")):
        if not side.paths:
            raise TicktreeError(f"nothing was measured in {name}: there is nothing to compare")
    unit: UnitOf = "blocks" if 1 in (len(base), len(new)) else "pairs" if paired else "runs"
    judge = _Judge(base_side, new_side, unit, threshold, confidence)
    # Parents before children, siblings together.
    in_order = sorted(
        (base_side.paths | new_side.paths) - {paths.ROOT}, key=lambda path: path.replace("/", "\0")
    )
    nodes = _with_renames([judge.entry("node", path) for path in in_order], base_side, new_side)
    loops = [judge.entry("loop", path) for path in sorted(base_side.loops | new_side.loops)]
    entries = tuple(_corrected([*loops, *nodes], judge))
    return Comparison(entries, threshold, unit, about(base), about(new))


class Side:
    """One or several runs of the same program, and their values: means of runs, or of blocks of one run.

    Args:
        runs: Their profiles, at least one.
        aliases: The paths of nodes on the other side, by their paths, where the two differ.
    """

    def __init__(self, runs: Sequence[Profile], aliases: Mapping[str, str] | None = None) -> None:
        names = aliases or {}
        self._nodes = [{names.get(path, path): node for path, _, node in run.root.walk()} for run in runs]
        self._loops = [{names.get(path, path): loop for path, loop in run.loops.items()} for run in runs]

    @cached_property
    def paths(self) -> set[str]:
        """The path of every node with steady calls in any run."""
        return {path for nodes in self._nodes for path, node in nodes.items() if node.steady.count}

    @cached_property
    def loops(self) -> set[str]:
        """The path of every loop with steady ticks in any run."""
        return {path for loops in self._loops for path, loop in loops.items() if loop.stats.count}

    def nodes(self, path: str) -> list[Node]:
        """Return the node at a path in each run that has it."""
        return [nodes[path] for nodes in self._nodes if path in nodes]

    def node(self, path: str) -> Node | None:
        """Return the node at a path in the first run that has it."""
        return next(iter(self.nodes(path)), None)

    def stats(self, kind: Kind, path: str) -> Stats:
        """Return the steady calls of a node, or the steady ticks of a loop, over all runs."""
        ticks = (loops[path].stats for loops in self._loops if path in loops)
        return reduce(add, ticks if kind == "loop" else (node.steady for node in self.nodes(path)), Stats())

    def rates(self, kind: Kind, path: str) -> dict[str, float]:
        """Return the rates per second: steady ticks of a loop, and the work that the node declared, by unit.

        Work and its time are those of the whole run.
        """
        members = [node for node in self.nodes(path) if node.work]
        total_ns = sum(node.total_ns for node in members)
        rates = {}
        if kind == "loop":
            stats = self.stats(kind, path)
            if stats.sum_ns:
                rates["ticks"] = stats.count * NS_PER_SECOND / stats.sum_ns
        for unit in ("bytes", "flops", "items"):
            work = sum(getattr(node.work, unit) for node in members)
            if work and total_ns > 0:
                rates[unit] = work * NS_PER_SECOND / total_ns
        return rates

    def run_means(self, path: str) -> list[float]:
        """Return the mean of a node's steady calls in each run that has it, in ns; at least 1 for ratios."""
        steady = (node.steady for node in self.nodes(path))
        return [max(1.0, stats.sum_ns / stats.count) for stats in steady if stats.count]

    def block_means(self, path: str) -> list[float]:
        """Return the mean duration of a node in each block of each run, in ns; at least 1."""
        return [max(1.0, mean) for node in self.nodes(path) for mean in block_means(node)]


def block_means(node: Node) -> list[float]:
    """Return the mean durations, in ns, of equal blocks of a node's steady calls; none if the run is too short.

    Args:
        node: A node of one run: a node merged from several runs has no single course over time.
    """
    segments = steady_segments(node)
    return [block.mean_ns for block in join_segments(segments, BLOCKS)] if len(segments) >= BLOCKS else []


class _Samples(NamedTuple):
    """Both sides' values of one node, and their unit; None if a run is too short for blocks."""

    before: list[float]
    after: list[float]
    unit: UnitOf | None


class _Judge:
    def __init__(self, base: Side, new: Side, unit: UnitOf, threshold: float, confidence: float) -> None:
        self.base, self.new, self.unit, self.threshold = base, new, unit, threshold
        self.confidence = confidence
        # Cached, because a loop shares its node's values and the correction needs them again.
        self._values = cache(self._side_values)

    def p_value(self, path: str) -> float:
        """Return the p-value of the two sides' values; 1 if a run is too short."""
        before, after, unit = self._values(path)
        return 1.0 if unit is None else _CONTRASTS[unit](before, after).p_value

    def with_doubt(self, entry: ComparisonEntry, is_significant: bool, level: float) -> ComparisonEntry:
        """Return an entry without a verdict by chance; `level` is the error rate of this section alone."""
        if entry.verdict in ("faster", "slower") and not is_significant:
            entry = replace(entry, verdict="inconclusive")
        if entry.verdict == "inconclusive":
            before, after, unit = self._values(entry.path)
            return replace(entry, power=power_of_pairs(before, after, level)) if unit == "pairs" else entry
        return entry

    def entry(self, kind: Kind, path: str) -> ComparisonEntry:
        base, new = self.base.stats(kind, path), self.new.stats(kind, path)
        entry = ComparisonEntry(
            path=path,
            kind=kind,
            verdict="only in new" if new.count else "only in base",
            shift=None,
            base=base,
            new=new,
            rates=(self.base.rates(kind, path), self.new.rates(kind, path)),
        )
        if not base.count or not new.count:
            return entry
        values = self._values(path)
        shift = self._shift(values, base, new)
        units = len(values.before), len(values.after)
        return replace(entry, verdict=verdict_of(shift, self.threshold), shift=shift, units=units)

    def _side_values(self, path: str) -> _Samples:
        before, after = (
            side.block_means(path) if self.unit == "blocks" else side.run_means(path)
            for side in (self.base, self.new)
        )
        unit: UnitOf = "runs" if self.unit == "pairs" and len(before) != len(after) else self.unit
        return _Samples(before, after, unit if before and after else None)

    def _shift(self, values: _Samples, base: Stats, new: Stats) -> Shift:
        before, after, unit = values
        if unit is None:  # only the means are known
            return Shift(new.sum_ns / max(1, base.sum_ns) * base.count / new.count - 1, -1.0, float("inf"))
        if unit == "blocks":
            return shift.contrast_shift(welch.contrast_of_runs(before, after), self.confidence)
        interval = shift.within_pairs if unit == "pairs" else shift.between
        return interval(before, after, self.confidence)


def _with_renames(nodes: list[ComparisonEntry], base: Side, new: Side) -> list[ComparisonEntry]:
    """Return the entries with the new names of removed nodes and the old names of added nodes."""
    removed = [entry.path for entry in nodes if entry.verdict == "only in base"]
    added = [entry.path for entry in nodes if entry.verdict == "only in new"]
    pairs = renames(removed, added, base.node, new.node)
    names = {**pairs, **{after: before for before, after in pairs.items()}}
    return [replace(entry, renamed=names.get(entry.path, "")) for entry in nodes]


def _corrected(entries: list[ComparisonEntry], judge: _Judge) -> list[ComparisonEntry]:
    """Correct the verdicts for the number of entries: all alarms together are wrong in 5% of comparisons.

    A loop's ticks are the calls of its node, so the two entries count as one test.
    """
    tested_paths = list(dict.fromkeys(entry.path for entry in entries if entry.shift is not None))
    rejections = welch.holm([judge.p_value(path) for path in tested_paths], 1 - judge.confidence)
    significant = {path for path, rejects in zip(tested_paths, rejections, strict=True) if rejects}
    level = (1 - judge.confidence) / max(1, len(tested_paths))
    return [judge.with_doubt(entry, entry.path in significant, level) for entry in entries]
