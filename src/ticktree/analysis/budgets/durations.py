"""Measures of how long calls take, and of what else is known of a section."""

from __future__ import annotations

from collections.abc import Callable

from ticktree.analysis.budgets.errors import NotMeasuredError
from ticktree.analysis.budgets.measure import NODES, Measure, Side
from ticktree.analysis.budgets.subject import Subject
from ticktree.analysis.budgets.unit import Unit
from ticktree.profile import Memory, Node, Stats

_SECOND_NS = 10**9


def quantile(name: str, q: float) -> Measure:
    """The percentile `q` of a node's steady calls."""
    return _duration(name, "most", lambda stats: stats.quantile_ns(q), q)


def steady(subject: Subject) -> Stats:
    """The steady calls of a node, of a loop its ticks.

    Raises:
        NotMeasuredError: There are none.
    """
    stats = subject.loop.stats if subject.loop else _node(subject).steady
    if not stats.count:
        raise NotMeasuredError("no call ended after warm-up")
    return stats


def _duration(name: str, side: Side, of: Callable[[Stats], int | None], q: float | None = None) -> Measure:
    def take(subject: Subject, _unit: Unit) -> float:
        value = of(steady(subject))
        if value is None:
            raise NotMeasuredError("how long single calls took is not known")
        return value

    return Measure(name, NODES, ("ns",), side, take, q)


def _node(subject: Subject) -> Node:
    if subject.node is None:
        raise NotMeasuredError("there is no such section")
    return subject.node


def _calls(subject: Subject, _unit: Unit) -> float:
    return subject.loop.stats.count if subject.loop else _node(subject).steady.count


def _share(subject: Subject, _unit: Unit) -> float:
    """Of the time of the nearest loop above, warm-up included: only there the accounts add up."""
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


def _is_rough(subject: Subject) -> bool:
    """Whether memory was only looked at when calls began and ended."""
    memory = _node(subject).memory
    return memory is not None and not memory.is_exact


def _is_rough_of_device(subject: Subject) -> bool:
    memory = _node(subject).device_memory
    return memory is not None and not memory.is_exact


def _sampled(memory: Memory | None, of: str = "") -> Memory:
    if memory is None:
        raise NotMeasuredError(f"memory {of}was not sampled: section(..., memory=True) does")
    return memory


def _rate(subject: Subject, unit: Unit) -> float:
    node = _node(subject)
    kind = {"bytes/s": "bytes", "FLOP/s": "flops", "items/s": "items"}[unit]
    done: int = getattr(node.work, kind) if node.work else 0
    if not done or node.total_ns <= 0:
        raise NotMeasuredError(f"it never said how many {kind} it did: section.work({kind}=...) does")
    return done * _SECOND_NS / node.total_ns


MEASURES = (
    _duration("mean", "most", lambda stats: stats.mean_ns),
    _duration("max", "most", lambda stats: stats.max_ns),
    _duration("min", "least", lambda stats: stats.min_ns),
    Measure("calls", NODES, ("count",), "said", _calls),
    Measure("share", NODES, ("share",), "most", _share),
    Measure("unaccounted", NODES, ("share",), "most", _unaccounted),
    Measure("memory", NODES, ("bytes",), "most", _memory, is_floor=_is_rough),
    Measure("memory_growth", NODES, ("bytes",), "most", _memory_growth, is_floor=_is_rough),
    Measure("device_memory", NODES, ("bytes",), "most", _device_memory, is_floor=_is_rough_of_device),
    Measure("rate", NODES, ("bytes/s", "FLOP/s", "items/s"), "least", _rate),
)
