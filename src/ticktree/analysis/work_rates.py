"""Work rates: what a node said it did, against the time it took and what its machine can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ticktree.analysis.loops import SectionView
from ticktree.analysis.machine import Ceilings
from ticktree.profile import Node

Kind: TypeAlias = Literal["bytes", "flops"]

# More than that no machine will ever do; with it, a rate would be no number any more.
_BEYOND_SENSE = 10**100

# A measured ceiling may be exceeded by so much: the best round of a second is within some percent of the best there
# is, and other libraries multiply somewhat faster than numpy's. Our own choice. Nothing may exceed what was reckoned:
# that is a bound.
MARGIN = 1.25
# A byte that is copied moves three times: it is read, its section is fetched, and it is written (McCalpin, STREAM, on
# write-allocate). Who only reads, or writes past the caches, can be three times as fast as memcpy, byte by byte.
MOVES_OF_A_COPY = 3
# Of a call that moves four times what the largest cache holds, little can have been there; below that much may.
CACHES_OVER = 4


@dataclass(frozen=True, slots=True)
class WorkRate:
    """The rate of one kind of work in one node, over all its calls.

    Attributes:
        section: the node.
        kind: of the work.
        amount: bytes or operations of all calls.
        ns: how long all calls took, at least 1: no clock tells less.
    """

    section: SectionView
    kind: Kind
    amount: int
    ns: int

    @property
    def node(self) -> Node:
        """The node."""
        return self.section.node

    @property
    def per_s(self) -> float:
        """Bytes or operations a second."""
        return float(self.amount) * 1e9 / self.ns

    @property
    def calls(self) -> int:
        """How many calls it is of, at least 1: work is also known of a call that has not ended."""
        return self.node.count or 1

    @property
    def per_call(self) -> float:
        """Bytes or operations a call."""
        return float(self.amount) / self.calls

    def ceiling_per_s(self, ceilings: Ceilings) -> float | None:
        """Return what the machine can do at most, all cores together; None where that is not known."""
        if self.kind == "flops":
            return _flops_ceiling(ceilings)
        single = ceilings.memcpy_bytes_per_s
        if not ceilings.cache_bytes or self.per_call < CACHES_OVER * ceilings.cache_bytes:
            single = ceilings.cache_copy_bytes_per_s
        return None if single is None else single * MOVES_OF_A_COPY * ceilings.cores


def on_the_processor(found: Sequence[SectionView]) -> Iterator[SectionView]:
    """Yield those of `found` where no device was asked for, there or above: what a GPU does is not the processor's."""
    left_out: set[int] = set()
    for section in found:  # parents before their children
        if section.node.device is not None or section.node.on_devices or id(section) in left_out:
            left_out.update(id(below) for below in section.below)
        else:
            yield section


def work_rates(section: SectionView) -> Iterator[WorkRate]:
    """Yield the rates that can be judged in `section`: of bytes and of operations."""
    work = section.node.work
    if work is None or section.node.total_ns < 0:
        return
    for kind, amount in (("flops", work.flops), ("bytes", work.bytes)):
        if 0 < amount < _BEYOND_SENSE:
            yield WorkRate(
                section, "flops" if kind == "flops" else "bytes", amount, max(1, section.node.total_ns)
            )


def _flops_ceiling(ceilings: Ceilings) -> float | None:
    """Return what all cores can do: on a machine that was busy when it was measured, more than they then did."""
    if ceilings.flops_per_s is None or not ceilings.is_measured:
        return ceilings.flops_per_s
    return max(ceilings.flops_per_s, ceilings.cores * (ceilings.flops_per_s_thread or 0.0))
