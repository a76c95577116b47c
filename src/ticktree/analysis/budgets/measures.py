"""Measures: the numbers of nodes, loops and gauges that can have a limit, by their configuration keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ticktree.analysis.budgets.subjects import Kind, NotMeasuredError, Subject
from ticktree.analysis.quantities import Unit
from ticktree.errors import did_you_mean
from ticktree.profile import Gauge, Jitter, Lateness, Loop, Memory, Node, Stats

# What a limit without a sign is: a maximum, a minimum, or an error because the sign is required.
Side: TypeAlias = Literal["most", "least", "explicit"]
NODES: frozenset[Kind] = frozenset({"node", "loop"})
LOOPS: frozenset[Kind] = frozenset({"loop"})
GAUGES: frozenset[Kind] = frozenset({"gauge"})


@dataclass(frozen=True, slots=True)
class BudgetMeasure:
    """A number that can have a limit.

    Attributes:
        name: the key in the configuration.
        kinds: the kinds of subjects that have it.
        units: the units of its limits, the likeliest first.
        side: what a limit without a sign is.
        take: returns the number of a subject in one of the units, or raises NotMeasuredError.
        quantile: the quantile, if it is one: with few values, a high quantile is the maximum.
        is_floor: whether the true number of a subject may be larger, never smaller.
    """

    name: str
    kinds: frozenset[Kind]
    units: tuple[Unit, ...]
    side: Side
    take: Callable[[Subject, Unit], float]
    quantile: float | None = None
    is_floor: Callable[[Subject], bool] = lambda _subject: False


_SECOND_NS = 10**9


def quantile_of_calls(name: str, q: float) -> BudgetMeasure:
    """Return the measure of the percentile `q` of a node's steady calls."""
    return _duration(name, "most", lambda stats: stats.quantile_ns(q), q)


def steady(subject: Subject) -> Stats:
    """Return the statistics of a node's steady calls, or of a loop's ticks.

    Raises:
        NotMeasuredError: No call ended after warm-up.
    """
    stats = subject.loop.stats if subject.loop else _node(subject).steady
    if not stats.count:
        raise NotMeasuredError("no call ended after warm-up")
    return stats


def _duration(
    name: str, side: Side, of: Callable[[Stats], int | None], q: float | None = None
) -> BudgetMeasure:
    def take(subject: Subject, _unit: Unit) -> float:
        value = of(steady(subject))
        if value is None:
            raise NotMeasuredError("how long single calls took is not known")
        return value

    return BudgetMeasure(name, NODES, ("ns",), side, take, q)


def _node(subject: Subject) -> Node:
    if subject.node is None:
        raise NotMeasuredError("there is no such section")
    return subject.node


def _calls(subject: Subject, _unit: Unit) -> float:
    return subject.loop.stats.count if subject.loop else _node(subject).steady.count


def _share(subject: Subject, _unit: Unit) -> float:
    """Return the share in the time of the nearest loop above, warm-up included: only there shares sum to 1."""
    within = subject.within
    if within is None or within.total_ns <= 0:
        raise NotMeasuredError("no time passed in what it is part of")
    return _node(subject).total_ns / within.total_ns


def _unaccounted(subject: Subject, _unit: Unit) -> float:
    node = _node(subject)
    if node.total_ns <= 0:
        raise NotMeasuredError("no time passed in it")
    return node.self_ns / node.total_ns


def _memory(subject: Subject, _unit: Unit) -> float:
    return _sampled(_node(subject).memory).peak_bytes


def _memory_growth(subject: Subject, _unit: Unit) -> float:
    growth = _sampled(_node(subject).memory).growth_bytes
    if growth is None:
        raise NotMeasuredError("how much a call needed is not known")
    return growth


def _device_memory(subject: Subject, _unit: Unit) -> float:
    return _sampled(_node(subject).device_memory, "of a device ").peak_bytes


def _is_memory_floor(subject: Subject) -> bool:
    """Return whether memory was only sampled when calls began and ended."""
    memory = _node(subject).memory
    return memory is not None and not memory.is_exact


def _is_device_memory_floor(subject: Subject) -> bool:
    memory = _node(subject).device_memory
    return memory is not None and not memory.is_exact


def _sampled(memory: Memory | None, of: str = "") -> Memory:
    if memory is None:
        raise NotMeasuredError(f"memory {of}was not sampled: use section(..., memory=True)")
    return memory


def _rate(subject: Subject, unit: Unit) -> float:
    node = _node(subject)
    kind = {"bytes/s": "bytes", "FLOP/s": "flops", "items/s": "items"}[unit]
    done: int = getattr(node.work, kind) if node.work else 0
    if not done or node.total_ns <= 0:
        raise NotMeasuredError(f"it declared no {kind}: use section.work({kind}=...)")
    return done * _SECOND_NS / node.total_ns


_NO_RATE = "it has no target rate: use loop(..., hz=...)"


def _loop(subject: Subject) -> Loop:
    if subject.loop is None:
        raise NotMeasuredError("there is no such loop")
    return subject.loop


def _with_rate(subject: Subject) -> Loop:
    """Return the loop, which must have a target rate and a tick."""
    loop = _loop(subject)
    if not loop.hz:
        raise NotMeasuredError(_NO_RATE)
    if not loop.stats.count:
        raise NotMeasuredError("no tick ended after warm-up")
    return loop


def _missed(subject: Subject, unit: Unit) -> float:
    loop = _with_rate(subject)
    return loop.missed / loop.stats.count if unit == "share" else loop.missed


def _longest_miss_run(subject: Subject, _unit: Unit) -> float:
    return _with_rate(subject).longest_miss_run


def _ticks(subject: Subject, _unit: Unit) -> float:
    return _loop(subject).ticks


def _incomplete(subject: Subject, _unit: Unit) -> float:
    return _loop(subject).incomplete


def _hz(subject: Subject, _unit: Unit) -> float:
    hz = _loop(subject).achieved_hz
    if hz is None:
        raise NotMeasuredError("no tick ended, or none began as another ended")
    return hz


def _lateness(subject: Subject) -> Lateness:
    lateness = _with_rate(subject).lateness
    if lateness is None:
        raise NotMeasuredError("when its ticks should have ended is not known")
    return lateness


def _jitter(subject: Subject) -> Jitter:
    jitter = _loop(subject).jitter
    if jitter is None or not jitter.count:
        raise NotMeasuredError("no two ticks were neighbours")
    return jitter


def quantile_of_ticks(name: str, q: float) -> BudgetMeasure | None:
    """Return the measure of the percentile `q` of lateness or jitter, as in "lateness_p99"; None for other names."""
    of = _SPREADS.get(name.partition("_")[0])
    if of is None:
        return None

    def take(subject: Subject, _unit: Unit) -> float:
        return _known(of(subject), lambda spread: spread.quantile_ns(q))

    return BudgetMeasure(name, LOOPS, ("ns",), "most", take)


def _known(spread: Lateness | Jitter, of: Callable[[Any], int | None]) -> float:
    """Return a number of a spread: 0 if no tick was late or no period differed, which is a measurement, too."""
    value = of(spread) if spread.count else 0
    if value is None:
        raise NotMeasuredError("only their sum is known, not each")
    return value


def _latest(subject: Subject, _unit: Unit) -> float:
    return _lateness(subject).max_ns


def _mean_lateness(subject: Subject, _unit: Unit) -> float:
    return _known(_lateness(subject), lambda lateness: lateness.mean_ns)


def _mean_jitter(subject: Subject, _unit: Unit) -> float:
    return _known(_jitter(subject), lambda jitter: jitter.mean_ns)


_SPREADS: Mapping[str, Callable[[Subject], Lateness | Jitter]] = {"lateness": _lateness, "jitter": _jitter}


def quantile_of_gauge(name: str, q: float) -> BudgetMeasure:
    """Return the measure of the percentile `q` of a gauge's readings."""
    return _reading(name, "explicit", lambda gauge: gauge.quantile(q), q)


def _gauge(subject: Subject) -> Gauge:
    if subject.gauge is None:
        raise NotMeasuredError("there is no such gauge")
    return subject.gauge


def _reading(
    name: str, side: Side, of: Callable[[Gauge], float | None], q: float | None = None
) -> BudgetMeasure:
    def take(subject: Subject, _unit: Unit) -> float:
        value = of(_gauge(subject))
        if value is None:
            raise NotMeasuredError("it has no reading")
        return value

    return BudgetMeasure(name, GAUGES, ("number",), side, take, q)


def _zeros(subject: Subject, unit: Unit) -> float:
    gauge = _gauge(subject)
    return gauge.zeros / gauge.count if unit == "share" else gauge.zeros


def _readings(subject: Subject, _unit: Unit) -> float:
    return _gauge(subject).count


_QUANTILE = re.compile(r"(?P<of>(?:lateness|jitter)_)?p(?P<percent>\d{1,2}(?:\.\d+)?)")


def _no_baseline(_subject: Subject, _unit: Unit) -> float:
    raise NotMeasuredError("there is no baseline to compare with")


# By how much calls may be slower than the baseline's; the comparison measures it, not the run alone.
SLOWER_MEASURE = BudgetMeasure("slower", NODES, ("share",), "most", _no_baseline)

MEASURES = (
    _duration("mean", "most", lambda stats: stats.mean_ns),
    _duration("max", "most", lambda stats: stats.max_ns),
    _duration("min", "least", lambda stats: stats.min_ns),
    BudgetMeasure("calls", NODES, ("count",), "explicit", _calls),
    BudgetMeasure("share", NODES, ("share",), "most", _share),
    BudgetMeasure("unaccounted", NODES, ("share",), "most", _unaccounted),
    BudgetMeasure("memory", NODES, ("bytes",), "most", _memory, is_floor=_is_memory_floor),
    BudgetMeasure("memory_growth", NODES, ("bytes",), "most", _memory_growth, is_floor=_is_memory_floor),
    BudgetMeasure(
        "device_memory", NODES, ("bytes",), "most", _device_memory, is_floor=_is_device_memory_floor
    ),
    BudgetMeasure("rate", NODES, ("bytes/s", "FLOP/s", "items/s"), "least", _rate),
    BudgetMeasure("missed", LOOPS, ("count", "share"), "most", _missed),
    BudgetMeasure("longest_miss_run", LOOPS, ("count",), "most", _longest_miss_run),
    BudgetMeasure("hz", LOOPS, ("Hz",), "least", _hz),
    BudgetMeasure("ticks", LOOPS, ("count",), "least", _ticks),
    BudgetMeasure("incomplete", LOOPS, ("count",), "most", _incomplete),
    BudgetMeasure("lateness_mean", LOOPS, ("ns",), "most", _mean_lateness),
    BudgetMeasure("lateness_max", LOOPS, ("ns",), "most", _latest),
    BudgetMeasure("jitter_mean", LOOPS, ("ns",), "most", _mean_jitter),
    _reading("min", "least", lambda gauge: gauge.min),
    _reading("max", "most", lambda gauge: gauge.max),
    _reading("last", "explicit", lambda gauge: gauge.last),
    BudgetMeasure("zeros", GAUGES, ("count", "share"), "most", _zeros),
    BudgetMeasure("readings", GAUGES, ("count",), "least", _readings),
    SLOWER_MEASURE,
)
NAMES = (
    *dict.fromkeys(measure.name for measure in MEASURES),
    "p50",
    "p90",
    "p99",
    "lateness_p99",
    "jitter_p99",
)


def measures(name: str) -> Sequence[BudgetMeasure]:
    """Return the measures of a key: of sections, and of gauges, whose readings have no unit.

    Raises:
        ValueError: There is none; the message suggests a similar name.
    """
    match = _QUANTILE.fullmatch(name)
    if match:
        q = float(match["percent"]) / 100
        spread = quantile_of_ticks(name, q)
        if spread is not None:
            return (spread,)
        return quantile_of_calls(name, q), quantile_of_gauge(name, q)
    named = [measure for measure in MEASURES if measure.name == name]
    if not named:
        raise ValueError(f"there is no measure {name!r}{did_you_mean(name, NAMES)}")
    return named
