"""What a node may record in addition to its times: call sites, work, CPU time, memory, open calls, workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from ticktree.profile.fields import FLAG, INT, TEXT, TEXTS
from ticktree.profile.table import Mergeable, ModelPart, add, all_of, column, largest, members

_NS_PER_SECOND = 10**9


@dataclass(frozen=True, slots=True, order=True)
class CallSite(ModelPart):
    """A line of the profiled program. A node keeps a counted set of them, which merges by adding."""

    file: str = column(None, TEXT)
    line: int = column(None, INT)
    function: str = column(None, TEXT)


@dataclass(frozen=True, slots=True)
class Work(Mergeable):
    """Work that the section declares. Every field merges by adding; 0 if it was never declared."""

    bytes: int = column(add, INT, optional=True, minimum=0, default=0)
    flops: int = column(add, INT, optional=True, minimum=0, default=0)
    items: int = column(add, INT, optional=True, minimum=0, default=0)


@dataclass(frozen=True, slots=True)
class Cpu(Mergeable):
    """Thread CPU time of the calls for which it was sampled."""

    samples: int = column(add, INT, minimum=0)
    cpu_ns: int = column(add, INT, minimum=0)
    wall_ns: int = column(add, INT, minimum=0)


@dataclass(frozen=True, slots=True)
class Memory(Mergeable):
    """Memory during the calls for which it was sampled: resident memory of the process, or memory of a device.

    Attributes:
        samples: number of sampled calls.
        change_bytes: change from the begin to the end of those calls; negative if they freed more than they allocated.
        peak_bytes: the largest size while one of them ran.
        growth_bytes: the largest size during one of them above the size at its begin; None if unknown.
        is_exact: whether peak and growth are exact; else they are lower bounds, because memory could only be read when
            a call began and when it ended.
        devices: the devices whose memory it is; empty for the process's own memory. Merges by union: sizes are those
            of the device with the most memory.
    """

    samples: int = column(add, INT, minimum=0)
    change_bytes: int = column(add, INT)
    peak_bytes: int = column(largest, INT, minimum=0)
    growth_bytes: int | None = column(largest, INT, optional=True, minimum=0, default=None)
    is_exact: bool = column(all_of, FLAG, key="exact", default=False)
    devices: frozenset[str] = column(members, TEXTS, optional=True, default=frozenset())

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if (self.growth_bytes or 0) > self.peak_bytes:
            yield f"a call needed {self.growth_bytes} bytes more, where there were never more than {self.peak_bytes}"


@dataclass(frozen=True, slots=True)
class OpenCalls(Mergeable):
    """Calls that had not ended when the profile was taken; `age_ns` is how long the oldest had been running."""

    count: int = column(add, INT, minimum=1)
    age_ns: int = column(largest, INT, minimum=0)


@dataclass(frozen=True, slots=True)
class Share(Mergeable):
    """One thread's part of a node. Every field merges by adding, and sums to the node's over its threads.

    Attributes:
        count: completed calls.
        total_ns: this thread's self time and its part of the children's. Like a node's total it counts concurrent time
            once.
        self_ns: time in which none of the children ran.
    """

    count: int = column(add, INT, minimum=0, default=0)
    total_ns: int = column(add, INT, default=0)
    self_ns: int = column(add, INT, minimum=0, default=0)


class Waker(NamedTuple):
    """A wake edge: which thread woke which, and through what.

    Attributes:
        channel: the name of the queue, pipe, lock or joined thread.
        thread: id of the thread that waited.
        by: id of the thread that woke it.
        path: of the node that was open in `by` when it signalled.
    """

    channel: str
    thread: str
    by: str
    path: str


@dataclass(frozen=True, slots=True)
class Wakes(Mergeable):
    """Waits that the signals of one waker ended.

    Attributes:
        count: number of waits.
        waited_ns: sum of their durations.
        latency_ns: of that, the time from the wake to the end of the wait.
    """

    count: int = column(add, INT)
    waited_ns: int = column(add, INT)
    latency_ns: int = column(add, INT)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if self.count < 1:
            yield "a waker never woke"
        if not 0 <= self.latency_ns <= self.waited_ns:
            yield f"a latency of {self.latency_ns} ns is not part of a wait of {self.waited_ns} ns"


@dataclass(frozen=True, slots=True)
class Rates:
    """Work against time, summed over all calls. None without such work, or without time."""

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


def _ratio(numerator: int, denominator: int) -> float | None:
    try:
        return numerator / denominator if numerator > 0 and denominator > 0 else None
    except OverflowError:  # a file may contain any number
        return None


Clock: TypeAlias = Literal["host", "device", "remote"]

HOST: Clock = "host"
DEVICE: Clock = "device"
REMOTE: Clock = "remote"
CLOCKS: tuple[Clock, ...] = (HOST, DEVICE, REMOTE)

_SUFFIXES = tuple(f"@{clock}" for clock in CLOCKS)


def key_of(name: str, clock: Clock) -> str:
    """Return the key of a node among its siblings: its name and, unless it is the host's, its clock.

    Two nodes have the same key only if they have the same name and the same clock: times of two clocks are never
    added. A name that itself ends in a clock gets the host's clock appended.
    """
    return name if clock == HOST and not name.endswith(_SUFFIXES) else f"{name}@{clock}"


def split_key(key: str) -> tuple[str, Clock]:
    """Return the name and the clock in `key`; the inverse of `key_of`."""
    for clock, suffix in zip(CLOCKS, _SUFFIXES, strict=True):
        if key.endswith(suffix):
            return key[: -len(suffix)], clock
    return key, HOST
