"""Subjects of budgets (nodes, loops and gauges of a profile) and measures: their numbers that can have a limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

from ticktree.analysis.loops import NS_PER_SECOND
from ticktree.analysis.quantities import Unit
from ticktree.errors import TicktreeError, did_you_mean
from ticktree.profile import Gauge, Jitter, Lateness, Loop, Memory, Node, Profile, Stats
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames


class BudgetError(TicktreeError, ValueError):
    """A budget that cannot be checked; the message is one line and names where the budget is configured."""


class NotMeasuredError(Exception):
    """This run does not contain a number; the message says why."""


Kind: TypeAlias = Literal["node", "loop", "gauge"]

# A gauge may have the same name as a section.
GAUGE_PREFIX = "gauge:"
_MAX_SHOWN = 3
# Ends each name of a path for pattern matching.
_END = "\0"


@dataclass(frozen=True, slots=True)
class Subject:
    """A node, loop or gauge that a budget can limit.

    Attributes:
        path: path of the node or loop, or the gauge's name.
        kind: which of the three it is.
        node: the node, for a loop the loop's node.
        loop: the loop.
        gauge: the gauge.
        within: the node of the nearest loop above; the root if there is none.
    """

    path: str
    kind: Kind
    node: Node | None = None
    loop: Loop | None = None
    gauge: Gauge | None = None
    within: Node | None = None

    @property
    def stats(self) -> Stats:
        """The steady calls of a node, or a loop's ticks."""
        return self.loop.stats if self.loop else self.node.steady if self.node else Stats()


class Subjects:
    """All subjects in a profile."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def named(self, name: str) -> Sequence[Subject]:
        """Return the subjects of `name`: a path, a pattern with `*`, the end of one path, or a gauge.

        Raises:
            BudgetError: There is none, or it is the end of several paths.
        """
        if name.startswith(GAUGE_PREFIX):
            gauge = name[len(GAUGE_PREFIX) :]
            return self._gauges_like(gauge) or self._refuse(name)
        if name in self._nodes:
            return [self._nodes[name]]
        if name in self._gauges:
            return [self._gauges[name]]
        if "*" in name:
            return self._nodes_like(name) or self._gauges_like(name) or self._refuse(name)
        return self._nodes_ending_in(name) or self._refuse(name)

    @cached_property
    def _nodes(self) -> dict[str, Subject]:
        """The loops and nodes by path, in the order of the tree, parents before their children."""
        root = self._profile.root
        subjects: dict[str, Subject] = {}
        pending = [("", root, root)]
        while pending:
            path, node, within = pending.pop()
            loop = self._profile.loops.get(path)
            if path:
                subjects[path] = Subject(path, "loop" if loop else "node", node, loop, within=within)
            children = [
                (paths.child(path, name), child, node if loop else within)
                for name, child in node.children.items()
            ]
            pending.extend(reversed(children))
        return subjects

    @cached_property
    def _gauges(self) -> dict[str, Subject]:
        return {name: Subject(name, "gauge", gauge=gauge) for name, gauge in self._profile.gauges.items()}

    @cached_property
    def _shown_paths(self) -> dict[str, str]:
        """The paths as the report shows them, by path: it shortens the names of focused calls."""
        short = ShortNames(self._profile.root)
        return {path: short.joined(paths.split(path)) for path in self._nodes}

    def _nodes_ending_in(self, name: str) -> list[Subject]:
        matches = [subject for path, subject in self._nodes.items() if path.endswith(f"/{name}")]
        if not matches:
            shown_matches = [path for path, shown_path in self._shown_paths.items() if shown_path == name]
            shown_matches = shown_matches or [
                path for path, shown_path in self._shown_paths.items() if shown_path.endswith(f"/{name}")
            ]
            matches = [self._nodes[path] for path in shown_matches]
        if len(matches) > 1:
            first = ", ".join(subject.path for subject in matches[:_MAX_SHOWN])
            rest = f" and {len(matches) - _MAX_SHOWN} more" if len(matches) > _MAX_SHOWN else ""
            raise BudgetError(
                f"{name!r} is the end of several paths: {first}{rest}; give more of the path, or **/{name}"
            )
        return matches

    def _nodes_like(self, pattern: str) -> list[Subject]:
        expression = _expression(pattern)
        return [
            subject
            for path, subject in self._nodes.items()
            if any(
                expression.fullmatch("".join(name + _END for name in paths.split(text)))
                for text in (path, self._shown_paths[path])
            )
        ]

    def _gauges_like(self, pattern: str) -> list[Subject]:
        expression = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
        return [subject for name, subject in self._gauges.items() if expression.fullmatch(name)]

    def _refuse(self, name: str) -> list[Subject]:
        last_names = [paths.element(paths.name_of(path)) for path in self._nodes]
        names = [*self._nodes, *self._gauges, *last_names]
        raise BudgetError(f"nothing in this run is called {name!r}{did_you_mean(name, names)}")


def _expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a path pattern: `*` matches a part of one name, `**` any number of names."""
    try:
        names = paths.split(pattern)
    except ValueError:
        raise BudgetError(f"{pattern!r} is no path") from None
    parts = [
        f"(?:[^{_END}]*{_END})*"
        if name == "**"
        else f"[^{_END}]*".join(map(re.escape, name.split("*"))) + _END
        for name in names
    ]
    return re.compile("".join(parts), re.DOTALL)


# The meaning of a limit without a sign: a maximum, a minimum, or an error because the sign is required.
Side: TypeAlias = Literal["most", "least", "explicit"]
NODES: frozenset[Kind] = frozenset({"node", "loop"})
LOOPS: frozenset[Kind] = frozenset({"loop"})
GAUGES: frozenset[Kind] = frozenset({"gauge"})

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class BudgetMeasure:
    """A number that can have a limit.

    Attributes:
        name: the key in the configuration.
        kinds: the kinds of subjects that have it.
        units: the units of its limits, the likeliest first.
        side: the meaning of a limit without a sign.
        take: returns the number of a subject in one of the units, or raises NotMeasuredError.
        quantile: the quantile, if the measure is one: with few values, a high quantile is the maximum.
        is_floor: whether the true number of a subject may be larger, but not smaller.
    """

    name: str
    kinds: frozenset[Kind]
    units: tuple[Unit, ...]
    side: Side
    take: Callable[[Subject, Unit], float]
    quantile: float | None = None
    is_floor: Callable[[Subject], bool] = lambda _subject: False


def _require(value: _Value | None, reason: str) -> _Value:
    """Return a value; without one, raise a NotMeasuredError with the reason."""
    if value is None:
        raise NotMeasuredError(reason)
    return value


def _node(subject: Subject) -> Node:
    return _require(subject.node, "there is no such section")


def _loop(subject: Subject) -> Loop:
    return _require(subject.loop, "there is no such loop")


def _gauge(subject: Subject) -> Gauge:
    return _require(subject.gauge, "there is no such gauge")


def _duration(
    name: str, side: Side, statistic: Callable[[Stats], int | None], quantile: float | None = None
) -> BudgetMeasure:
    """Return a measure of a node's steady calls, or of a loop's ticks."""

    def take(subject: Subject, _unit: Unit) -> float:
        stats = subject.stats
        if not stats.count:
            raise NotMeasuredError("no call ended after warm-up")
        return _require(statistic(stats), "how long single calls took is not known")

    return BudgetMeasure(name, NODES, ("ns",), side, take, quantile)


def _reading(
    name: str, side: Side, statistic: Callable[[Gauge], float | None], quantile: float | None = None
) -> BudgetMeasure:
    """Return a measure of a gauge's readings."""

    def take(subject: Subject, _unit: Unit) -> float:
        return _require(statistic(_gauge(subject)), "it has no reading")

    return BudgetMeasure(name, GAUGES, ("number",), side, take, quantile)


def _spread(name: str, statistic: Callable[[Any], int | None]) -> BudgetMeasure:
    """Return a measure of lateness or jitter: 0 if no tick was late or no period differed, which is measured, too."""

    def take(subject: Subject, _unit: Unit) -> float:
        spread = _lateness(subject) if name.startswith("lateness") else _jitter(subject)
        return _require(statistic(spread) if spread.count else 0, "only their sum is known, not each")

    return BudgetMeasure(name, LOOPS, ("ns",), "most", take)


def _peak(name: str, statistic: Callable[[Memory], int | None], *, device: bool = False) -> BudgetMeasure:
    """Return a measure of the memory, or of the device memory, of a node's calls."""

    def memory(subject: Subject) -> Memory | None:
        return _node(subject).device_memory if device else _node(subject).memory

    def take(subject: Subject, _unit: Unit) -> float:
        device_text = "of a device " if device else ""
        samples = _require(
            memory(subject), f"memory {device_text}was not sampled: use section(..., memory=True)"
        )
        return _require(statistic(samples), "how much a call needed is not known")

    def is_floor(subject: Subject) -> bool:
        """Return whether memory was only sampled when calls began and ended."""
        samples = memory(subject)
        return samples is not None and not samples.is_exact

    return BudgetMeasure(name, NODES, ("bytes",), "most", take, is_floor=is_floor)


def _share(subject: Subject, _unit: Unit) -> float:
    """Return the share of the time of the nearest loop above, warm-up included: only those shares sum to 1."""
    within = subject.within
    if within is None or within.total_ns <= 0:
        raise NotMeasuredError("no time passed in what it is part of")
    return _node(subject).total_ns / within.total_ns


def _unaccounted(subject: Subject, _unit: Unit) -> float:
    node = _node(subject)
    if node.total_ns <= 0:
        raise NotMeasuredError("no time passed in it")
    return node.self_ns / node.total_ns


def _rate(subject: Subject, unit: Unit) -> float:
    node = _node(subject)
    kind = {"bytes/s": "bytes", "FLOP/s": "flops", "items/s": "items"}[unit]
    amount: int = getattr(node.work, kind) if node.work else 0
    if not amount or node.total_ns <= 0:
        raise NotMeasuredError(f"it declared no {kind}: use section.work({kind}=...)")
    return amount * NS_PER_SECOND / node.total_ns


def _with_rate(subject: Subject) -> Loop:
    """Return the loop, which must have a target rate and a tick."""
    loop = _loop(subject)
    if not loop.hz:
        raise NotMeasuredError("it has no target rate: use loop(..., hz=...)")
    if not loop.stats.count:
        raise NotMeasuredError("no tick ended after warm-up")
    return loop


def _missed(subject: Subject, unit: Unit) -> float:
    loop = _with_rate(subject)
    return loop.missed / loop.stats.count if unit == "share" else loop.missed


def _hz(subject: Subject, _unit: Unit) -> float:
    return _require(_loop(subject).achieved_hz, "no tick ended, or none began as another ended")


def _lateness(subject: Subject) -> Lateness:
    return _require(_with_rate(subject).lateness, "when its ticks should have ended is not known")


def _jitter(subject: Subject) -> Jitter:
    jitter = _loop(subject).jitter
    if jitter is None or not jitter.count:
        raise NotMeasuredError("no two ticks were neighbours")
    return jitter


def _zeros(subject: Subject, unit: Unit) -> float:
    gauge = _gauge(subject)
    return gauge.zeros / gauge.count if unit == "share" else gauge.zeros


def _no_baseline(_subject: Subject, _unit: Unit) -> float:
    raise NotMeasuredError("there is no baseline to compare with")


# By how much calls may be slower than the baseline's: not a number of one run, but of the comparison.
SLOWER_MEASURE = BudgetMeasure("slower", NODES, ("share",), "most", _no_baseline)

MEASURES = (
    _duration("mean", "most", lambda stats: stats.mean_ns),
    _duration("max", "most", lambda stats: stats.max_ns),
    _duration("min", "least", lambda stats: stats.min_ns),
    BudgetMeasure("calls", NODES, ("count",), "explicit", lambda subject, _: subject.stats.count),
    BudgetMeasure("share", NODES, ("share",), "most", _share),
    BudgetMeasure("unaccounted", NODES, ("share",), "most", _unaccounted),
    _peak("memory", lambda memory: memory.peak_bytes),
    _peak("memory_growth", lambda memory: memory.growth_bytes),
    _peak("device_memory", lambda memory: memory.peak_bytes, device=True),
    BudgetMeasure("rate", NODES, ("bytes/s", "FLOP/s", "items/s"), "least", _rate),
    BudgetMeasure("missed", LOOPS, ("count", "share"), "most", _missed),
    BudgetMeasure(
        "longest_miss_run", LOOPS, ("count",), "most", lambda subject, _: _with_rate(subject).longest_miss_run
    ),
    BudgetMeasure("hz", LOOPS, ("Hz",), "least", _hz),
    BudgetMeasure("ticks", LOOPS, ("count",), "least", lambda subject, _: _loop(subject).ticks),
    BudgetMeasure("incomplete", LOOPS, ("count",), "most", lambda subject, _: _loop(subject).incomplete),
    _spread("lateness_mean", lambda lateness: lateness.mean_ns),
    BudgetMeasure("lateness_max", LOOPS, ("ns",), "most", lambda subject, _: _lateness(subject).max_ns),
    _spread("jitter_mean", lambda jitter: jitter.mean_ns),
    _reading("min", "least", lambda gauge: gauge.min),
    _reading("max", "most", lambda gauge: gauge.max),
    _reading("last", "explicit", lambda gauge: gauge.last),
    BudgetMeasure("zeros", GAUGES, ("count", "share"), "most", _zeros),
    BudgetMeasure("readings", GAUGES, ("count",), "least", lambda subject, _: _gauge(subject).count),
    SLOWER_MEASURE,
)
_QUANTILE = re.compile(r"(?P<of>(?:lateness|jitter)_)?p(?P<percent>\d{1,2}(?:\.\d+)?)")
NAMES = (
    *dict.fromkeys(measure.name for measure in MEASURES),
    *("p50", "p90", "p99", "lateness_p99", "jitter_p99"),
)


def measures(name: str) -> Sequence[BudgetMeasure]:
    """Return the measures of a key: those of sections, and those of gauges, whose readings have no unit.

    Raises:
        ValueError: There is none; the message suggests a similar name.
    """
    match = _QUANTILE.fullmatch(name)
    if match:
        quantile = float(match["percent"]) / 100
        if match["of"]:
            return (_spread(name, lambda spread: spread.quantile_ns(quantile)),)
        call_measure = _duration(name, "most", lambda stats: stats.quantile_ns(quantile), quantile)
        return call_measure, _reading(name, "explicit", lambda gauge: gauge.quantile(quantile), quantile)
    matches = [measure for measure in MEASURES if measure.name == name]
    if not matches:
        raise ValueError(f"there is no measure {name!r}{did_you_mean(name, NAMES)}")
    return matches
