"""Choosing: which of a trace's events are read. Some say what the program did; some how the library did it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticktree.importers.chrome.events import Event
from ticktree.profile import ProfileError
from ticktree.profile.errors import quoted

_CALLS = ("X", "B", "E")
_ANNOTATION = "user_annotation"
_OPERATOR = "cpu_op"
# What torch.profiler writes beside annotations and operators: hundreds of events for each of those.
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
        launches: those that asked a device for work.
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
    """Sort the events of a trace.

    Args:
        events: The file's.
        categories: Those whose calls to read; none for what the file's writer would want.

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

    Ends may have no category; they are those of whatever is open.
    """
    kinds = {("B", kind) for kind in wanted} | {("E", kind) for kind in wanted}
    if kinds.isdisjoint(by_kind):
        return []
    taken = {id(event) for kind in (*kinds, ("E", "")) for event in by_kind.get(kind, ())}
    return [event for event in events if id(event) in taken]


def _of_phase(by_kind: Mapping[tuple[str, str], list[Event]], phase: str) -> list[Event]:
    return [event for (one, _), some in by_kind.items() if one == phase for event in some]


def _named(there: Collection[str], categories: Collection[str]) -> set[str]:
    """Return the categories that were asked for; an event's may be a list with commas."""
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
