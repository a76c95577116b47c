"""The events of a Chrome trace as columns: calls, their lanes, and readings of gauges.

The format is Google's "Trace Event Format". Times are microseconds, with fractions; here they are whole nanoseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ticktree.profile import ProfileError
from ticktree.profile.fields import quoted

Event: TypeAlias = Mapping[str, Any]
Column: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Item = TypeVar("Item", bound=Hashable)

NS_PER_US = 1000
# Beyond this, 146 years, nanoseconds come near the end of their 64 bits; nothing that was measured does.
_LATEST_US = float(1 << 62) / NS_PER_US


class TraceLane(NamedTuple):
    """Where calls were made: a thread, by its process's and its own number or name in the file."""

    pid: Hashable
    tid: Hashable


@dataclass(eq=False)
class CallTable:
    """Calls as columns, equally long.

    Attributes:
        start_ns: when each began, by the file's clock.
        end_ns: when it ended; of an open one, when the file's last event did.
        name: what it called, as an index of the file's names.
        lane: where, as an index of the file's lanes.
        is_open: whether its end is not in the file.
        source: the event that it is, or that began it, as its place among those that were given.
    """

    start_ns: Column
    end_ns: Column
    name: Column
    lane: Column
    is_open: Flags
    source: Column

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(eq=False)
class TraceCalls(CallTable):
    """Calls in no order, with what the indices refer to, and what of the events could not be understood."""

    names: list[str]
    lanes: list[TraceLane]
    losses: dict[str, int] = field(default_factory=dict)


def calls_of(events: Sequence[Event]) -> TraceCalls:
    """Return the calls that `events` tell of: complete ones, and begins with their ends."""
    phases = [event["ph"] for event in events]
    names, name = _indexed([event.get("name", "") for event in events], text_of)
    lanes, lane = _indexed([(event.get("pid"), event.get("tid")) for event in events], _lane)
    at, is_timed = nanoseconds(event.get("ts") for event in events)
    complete = np.array([phase == "X" for phase in phases], bool)
    begins = np.array([phase == "B" for phase in phases], bool)
    length = np.zeros(len(events), np.int64)
    length[complete], is_length = nanoseconds(event.get("dur") for event in events if event["ph"] == "X")
    is_timed[complete] &= is_length & (length[complete] >= 0)
    losses = Counter(events_without_a_time=int(np.count_nonzero(~is_timed)))
    whole = np.flatnonzero(complete & is_timed)
    last_ns = int(np.max((at + length)[is_timed], initial=0))

    edges = np.flatnonzero(~complete & is_timed)
    edges = edges[np.lexsort((edges, at[edges], lane[edges]))]
    begun, ended = _matched(edges, begins, lane, name, names.index("") if "" in names else -1, losses)
    unended = ended < 0
    source = np.concatenate((whole, begun))
    end = np.concatenate((at[whole] + length[whole], np.where(unended, last_ns, at[ended])))
    return TraceCalls(
        start_ns=at[source],
        end_ns=end,
        name=name[source],
        lane=lane[source],
        is_open=np.concatenate((np.zeros(len(whole), bool), unended)),
        source=source,
        names=names,
        lanes=lanes,
        losses={what: count for what, count in losses.items() if count},
    )


def lane_of(event: Event) -> TraceLane:
    """Return where an event belongs."""
    return _lane((event.get("pid"), event.get("tid")))


def nanoseconds(values: Iterable[Any]) -> tuple[Column, Flags]:
    """Return times in microseconds as whole nanoseconds, and which of them are times; the others are 0."""
    listed = list(values)
    try:
        times = np.array(listed, np.float64)
    except (TypeError, ValueError, OverflowError):
        times = np.array([_number(value) for value in listed], np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        is_time = np.abs(times) < _LATEST_US
    times[~is_time] = 0
    # In two parts: microseconds since 1970, times a thousand, are more than a floating-point number can hold.
    whole = np.floor(times)
    return whole.astype(np.int64) * NS_PER_US + np.rint((times - whole) * NS_PER_US).astype(np.int64), is_time


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _indexed(values: Sequence[Any], clean: Callable[[Any], Item]) -> tuple[list[Item], Column]:
    """Return the different values, made clean, and for each value its place among them."""
    known: dict[Any, int] = {}
    try:
        places = [known.setdefault(value, len(known)) for value in values]
    except TypeError:  # lists and objects, where there should be names
        return _indexed([clean(value) for value in values], clean)
    cleaned = [clean(value) for value in known]
    codes = {value: code for code, value in enumerate(dict.fromkeys(cleaned))}
    return list(codes), np.array([codes[value] for value in cleaned], np.int64)[np.array(places, np.int64)]


def text_of(value: Any) -> str:
    """Return a name of any type; lists and objects are none, and may be too deep to be written."""
    return f"({type(value).__name__})" if isinstance(value, (list, dict)) else str(value)


def _lane(numbers: tuple[Any, Any]) -> TraceLane:
    pid, tid = (one if isinstance(one, (int, str)) else text_of(one) for one in numbers)
    return TraceLane(pid, tid)


def _matched(
    edges: Column, begins: Flags, lane: Column, name: Column, nameless: int, losses: Counter[str]
) -> tuple[Column, Column]:
    """Pair begins and ends, in the order of their time, lane by lane: the begins, and for each its end, or -1.

    An end is that of the innermost open call of its name; what is open inside that one ends with it.
    """
    begun: list[int] = []
    ended: list[int] = []
    open_: list[int] = []  # places in both
    depths: dict[int, list[int]] = {}  # by name, where in `open_` its calls are
    here = -1
    for edge, is_begin, where, called in zip(
        edges.tolist(), begins[edges].tolist(), lane[edges].tolist(), name[edges].tolist(), strict=True
    ):
        if where != here:
            open_, depths, here = [], {}, where
        if is_begin:
            depths.setdefault(called, []).append(len(open_))
            open_.append(len(begun))
            begun.append(edge)
            ended.append(-1)
            continue
        of_its_name = depths.get(called)
        if not (open_ if called == nameless else of_its_name):
            losses["ends_without_a_begin"] += 1
            continue
        depth = of_its_name[-1] if of_its_name and called != nameless else len(open_) - 1
        losses["calls_that_ended_with_another"] += len(open_) - depth - 1
        for place in open_[depth:]:
            ended[place] = edge
            depths[int(name[begun[place]])].pop()
        del open_[depth:]
    return np.array(begun, np.int64), np.array(ended, np.int64)


_CALLS = ("X", "B", "E")
_ANNOTATION = "user_annotation"
_OPERATOR = "cpu_op"
# What torch.profiler writes in addition to annotations and operators: hundreds of events for each of those.
_INSIDE_TORCH = frozenset(
    {
        *("python_function", "cuda_runtime", "cuda_driver", "xpu_runtime", "privateuse1_runtime", "overhead"),
        *("gpu_user_annotation", "Trace", "cuda_sync", "cuda_profiler_range", "mtia_runtime"),
    }
)
# Work that a device did, by what a row of it is called.
DEVICE_WORK = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "fills"}
LAUNCHES = frozenset({"cuda_runtime", "cuda_driver", "xpu_runtime", "privateuse1_runtime"})


@dataclass(frozen=True)
class Chosen:
    """The events of a trace, by what is done with them.

    Attributes:
        calls: those that become sections.
        work: those that a device did.
        launches: those that gave a device work.
        counters: readings of gauges.
        labels: names of processes and threads.
        unread: categories of calls that are there and were not chosen.
    """

    calls: list[Event]
    work: list[Event]
    launches: list[Event]
    counters: list[Event]
    labels: list[Event]
    unread: frozenset[str]


def chosen(events: Sequence[Any], categories: Collection[str]) -> Chosen:
    """Sort the events of a trace. Without `categories`, the calls are those that the file's writer would want.

    Raises:
        ProfileError: the file has none of these, or no calls at all.
    """
    sorted_ = _sorted(events)
    by_category: dict[str, list[Event]] = {}
    for (phase, kind), some in sorted_.items():
        if phase in _CALLS:
            by_category.setdefault(kind, []).extend(some)
    if not by_category:
        raise ProfileError("a Chrome trace without a single call: it has no events of phase X or B")
    wanted = _named(by_category, categories) if categories else _by_default(by_category)
    work = {kind for kind in by_category if kind in DEVICE_WORK and (kind in wanted or not categories)}
    called = wanted - work
    complete = [event for kind in by_category if kind in called for event in sorted_.get(("X", kind), ())]
    return Chosen(
        calls=complete + _edges(events, sorted_, wanted),
        work=[event for kind in by_category if kind in work for event in by_category[kind]],
        launches=[event for kind in by_category if kind in LAUNCHES for event in by_category[kind]],
        counters=_of_phase(sorted_, "C"),
        labels=_of_phase(sorted_, "M"),
        unread=frozenset(by_category.keys() - wanted - work - {""}),
    )


def _sorted(events: Sequence[Any]) -> dict[tuple[str, str], list[Event]]:
    """Return the events by phase and category; what is no event is left out."""
    found: dict[tuple[Any, Any], list[Event]] = {}
    for event in events:
        try:
            kind = event["ph"], event.get("cat", "")
            found.setdefault(kind, []).append(event)
        except (TypeError, KeyError, AttributeError):
            continue
    clean: dict[tuple[str, str], list[Event]] = {}
    for (phase, category), some in found.items():
        clean.setdefault((str(phase), str(category)), []).extend(some)
    return clean


def _edges(
    events: Sequence[Any], by_kind: Mapping[tuple[str, str], list[Event]], wanted: Collection[str]
) -> list[Event]:
    """Return begins and ends as they stand in the file, for of those at one moment nothing else tells the order.

    Ends may have no category; they end what is open.
    """
    kinds = {("B", kind) for kind in wanted} | {("E", kind) for kind in wanted}
    if kinds.isdisjoint(by_kind):
        return []
    taken = {id(event) for kind in (*kinds, ("E", "")) for event in by_kind.get(kind, ())}
    return [event for event in events if id(event) in taken]


def _of_phase(by_kind: Mapping[tuple[str, str], list[Event]], phase: str) -> list[Event]:
    return [event for (one, _), some in by_kind.items() if one == phase for event in some]


def _named(there: Collection[str], categories: Collection[str]) -> set[str]:
    """Return the requested categories; an event's may be a list with commas."""
    found = {kind for kind in there if not {*kind.split(","), kind}.isdisjoint(categories)}
    if not found:
        some = ", ".join(quoted(kind) for kind in sorted(there)[:12])
        raise ProfileError(f"no event is of category {', '.join(sorted(categories))}; there are {some}")
    return found


def _by_default(there: Collection[str]) -> set[str]:
    if _ANNOTATION in there:
        return {_ANNOTATION}
    if _OPERATOR in there:
        return {_OPERATOR}
    # Nothing of torch's, or nothing else than its insides.
    outside = {kind for kind in there if kind not in _INSIDE_TORCH and kind not in DEVICE_WORK}
    return outside or set(there) - DEVICE_WORK.keys()
