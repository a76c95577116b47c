"""What a node may know beside its times: its call sites, the work it did, CPU time, memory, open calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.profile.merging import largest


@dataclass(frozen=True, slots=True, order=True)
class CallSite:
    """A line of the profiled program. A node keeps a counted set of them, which merges by adding."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Work:
    """Work the section says it did. Every field merges by adding; 0 where that kind was never reported."""

    bytes: int = 0
    flops: int = 0
    items: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.bytes + other.bytes, self.flops + other.flops, self.items + other.items)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if min(self.bytes, self.flops, self.items) < 0:
            yield "the work done is negative"


@dataclass(frozen=True, slots=True)
class Cpu:
    """Thread CPU time of the calls that were sampled for it. Every field merges by adding.

    Attributes:
        samples: calls that were sampled.
        cpu_ns: CPU time they used.
        wall_ns: wall time they took.
    """

    samples: int
    cpu_ns: int
    wall_ns: int

    def __add__(self, other: Cpu) -> Cpu:
        return Cpu(self.samples + other.samples, self.cpu_ns + other.cpu_ns, self.wall_ns + other.wall_ns)

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if min(self.samples, self.cpu_ns, self.wall_ns) < 0:
            yield "a CPU time is negative"


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory across the calls that were sampled for it: what the process had resident, or what it had of a device.

    Attributes:
        samples: calls that were sampled. Merges by adding.
        change_bytes: what those calls added by their end, negative where they freed more. Merges by adding.
        peak_bytes: the largest size while one of them ran. Merges by the maximum.
        growth_bytes: the most that one of them needed at any moment beyond what was there when it began; None where
            that is not known. Merges by the maximum of those known.
        is_exact: whether peak and growth are true; else they are at least so much, because memory could only be looked
            at when a call began and when it ended. Merges by and.
        devices: the devices whose memory it is; empty where it is the process's own. Merges by union: sizes are those
            of one device, that which had most.
    """

    samples: int
    change_bytes: int
    peak_bytes: int
    growth_bytes: int | None = None
    is_exact: bool = False
    devices: frozenset[str] = frozenset()

    def __add__(self, other: Memory) -> Memory:
        return Memory(
            self.samples + other.samples,
            self.change_bytes + other.change_bytes,
            max(self.peak_bytes, other.peak_bytes),
            largest(self.growth_bytes, other.growth_bytes),
            self.is_exact and other.is_exact,
            self.devices | other.devices,
        )

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if self.samples < 0 or self.peak_bytes < 0 or (self.growth_bytes or 0) < 0:
            yield "a memory size is negative"
        if (self.growth_bytes or 0) > self.peak_bytes:
            yield f"a call needed {self.growth_bytes} bytes more, where there were never more than {self.peak_bytes}"


@dataclass(frozen=True, slots=True)
class Open:
    """Calls that had not ended when the profile was taken.

    Attributes:
        count: how many. Merges by adding.
        age_ns: how long the oldest had been running. Merges by the maximum.
    """

    count: int
    age_ns: int

    def __add__(self, other: Open) -> Open:
        return Open(self.count + other.count, max(self.age_ns, other.age_ns))

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if self.count < 1 or self.age_ns < 0:
            yield "open calls have no count or a negative age"
