"""What a node may know in addition to its times: call sites, work, CPU time, memory, open calls, workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from ticktree.profile.fields import FLAG, TEXT, TEXTS, WHOLE
from ticktree.profile.table import Mergeable, Stored, add, all_of, largest, members, stored

_NS_PER_SECOND = 10**9


@dataclass(frozen=True, slots=True, order=True)
class CallSite(Stored):
    """A line of the profiled program. A node keeps a counted set of them, which merges by adding."""

    file: str = stored(None, TEXT)
    line: int = stored(None, WHOLE)
    function: str = stored(None, TEXT)


@dataclass(frozen=True, slots=True)
class Work(Mergeable):
    """Work the section says it did. Every field merges by adding; 0 where that kind was never reported."""

    bytes: int = stored(add, WHOLE, optional=True, least=0, default=0)
    flops: int = stored(add, WHOLE, optional=True, least=0, default=0)
    items: int = stored(add, WHOLE, optional=True, least=0, default=0)


@dataclass(frozen=True, slots=True)
class Cpu(Mergeable):
    """Thread CPU time of the calls that were sampled for it."""

    samples: int = stored(add, WHOLE, least=0)
    cpu_ns: int = stored(add, WHOLE, least=0)
    wall_ns: int = stored(add, WHOLE, least=0)


@dataclass(frozen=True, slots=True)
class Memory(Mergeable):
    """Memory across the calls that were sampled for it: what the process had resident, or what it had of a device.

    Attributes:
        samples: calls that were sampled.
        change_bytes: what those calls added by their end, negative where they freed more.
        peak_bytes: the largest size while one of them ran.
        growth_bytes: the most that one of them needed at any moment beyond what was there when it began; None where
            that is not known.
        is_exact: whether peak and growth are true; else they are at least so much, because memory could only be looked
            at when a call began and when it ended.
        devices: the devices whose memory it is; empty where it is the process's own. Merges by union: sizes are those
            of one device, that which had most.
    """

    samples: int = stored(add, WHOLE, least=0)
    change_bytes: int = stored(add, WHOLE)
    peak_bytes: int = stored(largest, WHOLE, least=0)
    growth_bytes: int | None = stored(largest, WHOLE, optional=True, least=0, default=None)
    is_exact: bool = stored(all_of, FLAG, key="exact", default=False)
    devices: frozenset[str] = stored(members, TEXTS, optional=True, default=frozenset())

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if (self.growth_bytes or 0) > self.peak_bytes:
            yield f"a call needed {self.growth_bytes} bytes more, where there were never more than {self.peak_bytes}"


@dataclass(frozen=True, slots=True)
class Open(Mergeable):
    """Calls that had not ended when the profile was taken.

    Attributes:
        count: how many.
        age_ns: how long the oldest had been running.
    """

    count: int = stored(add, WHOLE, least=1)
    age_ns: int = stored(largest, WHOLE, least=0)


@dataclass(frozen=True, slots=True)
class Share(Mergeable):
    """One writer's part of a node. Every field merges by adding, and sums to the node's over its writers.

    Attributes:
        count: completed calls.
        total_ns: self time and the children's, so far as it is this writer's. Like a node's total it counts time that
            was concurrent once.
        self_ns: time in which none of the children ran.
    """

    count: int = stored(add, WHOLE, least=0, default=0)
    total_ns: int = stored(add, WHOLE, default=0)
    self_ns: int = stored(add, WHOLE, least=0, default=0)


class Waker(NamedTuple):
    """A wake edge: what woke what.

    Attributes:
        channel: what was waited for: the name of a queue, a pipe, a lock, a thread to join.
        writer: id of the writer that waited.
        by: id of the writer that signalled.
        path: of the node that was open there when it signalled.
    """

    channel: str
    writer: str
    by: str
    path: str


@dataclass(frozen=True, slots=True)
class Wakes(Mergeable):
    """Waits that ended by the same waker's signals.

    Attributes:
        count: how many.
        waited_ns: how long they had lasted together.
        handover_ns: of that, the time from the signal to the end of the wait.
    """

    count: int = stored(add, WHOLE)
    waited_ns: int = stored(add, WHOLE)
    handover_ns: int = stored(add, WHOLE)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if self.count < 1:
            yield "a waker never woke"
        if not 0 <= self.handover_ns <= self.waited_ns:
            yield f"a handover of {self.handover_ns} ns is not part of a wait of {self.waited_ns} ns"


@dataclass(frozen=True, slots=True)
class Rates:
    """Work against time, of all calls together. None where there was no such work, or no time."""

    bytes_per_s: float | None = None
    flops_per_s: float | None = None
    items_per_s: float | None = None
    ns_per_item: float | None = None


def rates(work: Work | None, total_ns: int) -> Rates:
    """Return the rates of `work` done in `total_ns`."""
    if work is None:
        return Rates()
    return Rates(
        bytes_per_s=_per_second(work.bytes, total_ns),
        flops_per_s=_per_second(work.flops, total_ns),
        items_per_s=_per_second(work.items, total_ns),
        ns_per_item=_ratio(total_ns, work.items),
    )


def _per_second(amount: int, total_ns: int) -> float | None:
    return _ratio(amount * _NS_PER_SECOND, total_ns)


def _ratio(above: int, below: int) -> float | None:
    try:
        return above / below if above > 0 and below > 0 else None
    except OverflowError:  # a file may say anything; what is beyond all numbers is no rate
        return None


Clock: TypeAlias = Literal["host", "device", "remote"]

HOST: Clock = "host"
DEVICE: Clock = "device"
REMOTE: Clock = "remote"
CLOCKS: tuple[Clock, ...] = (HOST, DEVICE, REMOTE)

_MARKS = tuple(f"@{clock}" for clock in CLOCKS)


def key_of(name: str, clock: Clock) -> str:
    """Return what a node is filed under among its siblings: its name and, where it is not the host's, its clock.

    Two nodes have the same key only if they have the same name and the same clock: what one clock measured is never
    added to what another did. A name that itself ends like a marked one is marked too.
    """
    return name if clock == HOST and not name.endswith(_MARKS) else f"{name}@{clock}"


def named_by(key: str) -> tuple[str, Clock]:
    """Return the name and the clock that `key` is of; the inverse of `key_of`."""
    for clock, mark in zip(CLOCKS, _MARKS, strict=True):
        if key.endswith(mark):
            return key[: -len(mark)], clock
    return key, HOST
