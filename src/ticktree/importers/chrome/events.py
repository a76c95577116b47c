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
# 146 years: larger times in nanoseconds come near the end of 64 bits, and no trace has them.
_LATEST_US = float(1 << 62) / NS_PER_US


class TraceLane(NamedTuple):
    """A thread, by its process's and its own number or name in the file."""

    pid: Hashable
    tid: Hashable


@dataclass(eq=False)
class CallTable:
    """Calls as columns of equal length.

    Attributes:
        start_ns: when it began, by the file's clock.
        end_ns: when it ended; for an open call, the end of the file's last event.
        name: index of its name among the file's names.
        lane: index of its lane among the file's lanes.
        is_open: whether its end is not in the file.
        source: index of the event of the call, or of its begin.
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
    """Calls in no order, with the names and lanes that they refer to, and counts of invalid events."""

    names: list[str]
    lanes: list[TraceLane]
    losses: dict[str, int] = field(default_factory=dict)


def calls_of(events: Sequence[Event]) -> TraceCalls:
    """Return the calls in `events`: complete events, and begins with their ends."""
    phases = [event["ph"] for event in events]
    names, name = _index([event.get("name", "") for event in events], text_of)
    lanes, lane = _index([(event.get("pid"), event.get("tid")) for event in events], _clean_lane)
    start, is_timed = nanoseconds(event.get("ts") for event in events)
    is_complete = np.array([phase == "X" for phase in phases], bool)
    is_begin = np.array([phase == "B" for phase in phases], bool)
    length = np.zeros(len(events), np.int64)
    length[is_complete], is_length = nanoseconds(event.get("dur") for event in events if event["ph"] == "X")
    is_timed[is_complete] &= is_length & (length[is_complete] >= 0)
    losses = Counter(events_without_a_time=int(np.count_nonzero(~is_timed)))
    complete = np.flatnonzero(is_complete & is_timed)
    last_ns = int(np.max((start + length)[is_timed], initial=0))

    edges = np.flatnonzero(~is_complete & is_timed)
    edges = edges[np.lexsort((edges, start[edges], lane[edges]))]
    begins, ends = _match_edges(edges, is_begin, lane, name, names.index("") if "" in names else -1, losses)
    is_open = ends < 0
    source = np.concatenate((complete, begins))
    end = np.concatenate((start[complete] + length[complete], np.where(is_open, last_ns, start[ends])))
    return TraceCalls(
        start_ns=start[source],
        end_ns=end,
        name=name[source],
        lane=lane[source],
        is_open=np.concatenate((np.zeros(len(complete), bool), is_open)),
        source=source,
        names=names,
        lanes=lanes,
        losses={loss: count for loss, count in losses.items() if count},
    )


def lane_of(event: Event) -> TraceLane:
    """Return the lane of an event."""
    return _clean_lane((event.get("pid"), event.get("tid")))


def nanoseconds(values: Iterable[Any]) -> tuple[Column, Flags]:
    """Return times in microseconds as whole nanoseconds, and which of them are valid; invalid ones become 0."""
    items = list(values)
    try:
        times = np.array(items, np.float64)
    except (TypeError, ValueError, OverflowError):
        times = np.array([_to_float(value) for value in items], np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        is_time = np.abs(times) < _LATEST_US
    times[~is_time] = 0
    # In two parts: microseconds since 1970, times a thousand, exceed the precision of a floating-point number.
    floor = np.floor(times)
    return floor.astype(np.int64) * NS_PER_US + np.rint((times - floor) * NS_PER_US).astype(np.int64), is_time


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _index(values: Sequence[Any], clean: Callable[[Any], Item]) -> tuple[list[Item], Column]:
    """Return the distinct values, cleaned, and for each value its index among them."""
    indices: dict[Any, int] = {}
    try:
        inverse = [indices.setdefault(value, len(indices)) for value in values]
    except TypeError:  # lists and objects in place of names
        return _index([clean(value) for value in values], clean)
    cleaned = [clean(value) for value in indices]
    codes = {value: code for code, value in enumerate(dict.fromkeys(cleaned))}
    return list(codes), np.array([codes[value] for value in cleaned], np.int64)[np.array(inverse, np.int64)]


def text_of(value: Any) -> str:
    """Return the text of a name of any type; lists and objects may be too deep to write."""
    return f"({type(value).__name__})" if isinstance(value, (list, dict)) else str(value)


def _clean_lane(numbers: tuple[Any, Any]) -> TraceLane:
    pid, tid = (number if isinstance(number, (int, str)) else text_of(number) for number in numbers)
    return TraceLane(pid, tid)


def _match_edges(
    edges: Column, is_begin: Flags, lane: Column, name: Column, nameless: int, losses: Counter[str]
) -> tuple[Column, Column]:
    """Return the begins in `edges`, which are sorted by lane and time, and for each its end, or -1.

    An end belongs to the innermost open call of its name; calls that are open inside that one end with it.
    """
    begins: list[int] = []
    ends: list[int] = []
    open_calls: list[int] = []  # indices in both
    depths: dict[int, list[int]] = {}  # by name, the indices of its calls in `open_calls`
    current_lane = -1
    for edge, is_begin_edge, edge_lane, edge_name in zip(
        edges.tolist(), is_begin[edges].tolist(), lane[edges].tolist(), name[edges].tolist(), strict=True
    ):
        if edge_lane != current_lane:
            open_calls, depths, current_lane = [], {}, edge_lane
        if is_begin_edge:
            depths.setdefault(edge_name, []).append(len(open_calls))
            open_calls.append(len(begins))
            begins.append(edge)
            ends.append(-1)
            continue
        depths_of_name = depths.get(edge_name)
        if not (open_calls if edge_name == nameless else depths_of_name):
            losses["ends_without_a_begin"] += 1
            continue
        depth = depths_of_name[-1] if depths_of_name and edge_name != nameless else len(open_calls) - 1
        losses["calls_that_ended_with_another"] += len(open_calls) - depth - 1
        for call in open_calls[depth:]:
            ends[call] = edge
            depths[int(name[begins[call]])].pop()
        del open_calls[depth:]
    return np.array(begins, np.int64), np.array(ends, np.int64)


_CALL_PHASES = ("X", "B", "E")
_ANNOTATION = "user_annotation"
_OPERATOR = "cpu_op"
# Other categories of torch.profiler: hundreds of events for each annotation and operator.
_INSIDE_TORCH = frozenset(
    {
        *("python_function", "cuda_runtime", "cuda_driver", "xpu_runtime", "privateuse1_runtime", "overhead"),
        *("gpu_user_annotation", "Trace", "cuda_sync", "cuda_profiler_range", "mtia_runtime"),
    }
)
# Categories of work on a device, and the names of their nodes.
DEVICE_WORK = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "fills"}
LAUNCHES = frozenset({"cuda_runtime", "cuda_driver", "xpu_runtime", "privateuse1_runtime"})


@dataclass(frozen=True)
class TraceEvents:
    """The events of a trace, by use.

    Attributes:
        calls: become sections.
        work: work on a device.
        launches: launches of work on a device.
        counters: readings of gauges.
        labels: names of processes and threads.
        unread: categories of calls in the file that were not selected.
    """

    calls: list[Event]
    work: list[Event]
    launches: list[Event]
    counters: list[Event]
    labels: list[Event]
    unread: frozenset[str]


def select(events: Sequence[Any], categories: Collection[str]) -> TraceEvents:
    """Sort the events of a trace by use. Without `categories`, select the calls that suit the file's writer.

    Raises:
        ProfileError: the file has none of these categories, or no calls at all.
    """
    by_kind = _group_events(events)
    by_category: dict[str, list[Event]] = {}
    for (phase, kind), group in by_kind.items():
        if phase in _CALL_PHASES:
            by_category.setdefault(kind, []).extend(group)
    if not by_category:
        raise ProfileError("a Chrome trace without a single call: it has no events of phase X or B")
    selected = _match_categories(by_category, categories) if categories else _default_categories(by_category)
    work = {kind for kind in by_category if kind in DEVICE_WORK and (kind in selected or not categories)}
    call_categories = selected - work
    complete = [
        event for kind in by_category if kind in call_categories for event in by_kind.get(("X", kind), ())
    ]
    return TraceEvents(
        calls=complete + _edges(events, by_kind, selected),
        work=[event for kind in by_category if kind in work for event in by_category[kind]],
        launches=[event for kind in by_category if kind in LAUNCHES for event in by_category[kind]],
        counters=_events_of_phase(by_kind, "C"),
        labels=_events_of_phase(by_kind, "M"),
        unread=frozenset(by_category.keys() - selected - work - {""}),
    )


def _group_events(events: Sequence[Any]) -> dict[tuple[str, str], list[Event]]:
    """Return the events by phase and category; values that are not events are left out."""
    groups: dict[tuple[Any, Any], list[Event]] = {}
    for event in events:
        try:
            kind = event["ph"], event.get("cat", "")
            groups.setdefault(kind, []).append(event)
        except (TypeError, KeyError, AttributeError):
            continue
    cleaned: dict[tuple[str, str], list[Event]] = {}
    for (phase, kind), group in groups.items():
        cleaned.setdefault((str(phase), str(kind)), []).extend(group)
    return cleaned


def _edges(
    events: Sequence[Any], by_kind: Mapping[tuple[str, str], list[Event]], selected: Collection[str]
) -> list[Event]:
    """Return begins and ends in the file's order, which alone orders those of the same moment.

    Ends may have no category; they end an open call.
    """
    kinds = {("B", kind) for kind in selected} | {("E", kind) for kind in selected}
    if kinds.isdisjoint(by_kind):
        return []
    edge_ids = {id(event) for kind in (*kinds, ("E", "")) for event in by_kind.get(kind, ())}
    return [event for event in events if id(event) in edge_ids]


def _events_of_phase(by_kind: Mapping[tuple[str, str], list[Event]], phase: str) -> list[Event]:
    return [event for (event_phase, _), group in by_kind.items() if event_phase == phase for event in group]


def _match_categories(present: Collection[str], categories: Collection[str]) -> set[str]:
    """Return the requested categories; an event's may be a list with commas."""
    matches = {kind for kind in present if not {*kind.split(","), kind}.isdisjoint(categories)}
    if not matches:
        examples = ", ".join(quoted(kind) for kind in sorted(present)[:12])
        raise ProfileError(f"no event is of category {', '.join(sorted(categories))}; there are {examples}")
    return matches


def _default_categories(present: Collection[str]) -> set[str]:
    if _ANNOTATION in present:
        return {_ANNOTATION}
    if _OPERATOR in present:
        return {_OPERATOR}
    # Not a trace of torch.profiler, or only its internal events.
    other_categories = {kind for kind in present if kind not in _INSIDE_TORCH and kind not in DEVICE_WORK}
    return other_categories or set(present) - DEVICE_WORK.keys()
