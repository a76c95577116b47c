"""Rates: the work that a node did, against the time it took."""

from __future__ import annotations

from dataclasses import dataclass

from ticktree.profile.measures import Work

_NS_PER_SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Rates:
    """Work against time, of all calls together. None where there was no such work, or no time.

    Attributes:
        bytes_per_s: bytes a second.
        flops_per_s: floating-point operations a second.
        items_per_s: items a second.
        ns_per_item: what one item cost, in nanoseconds.
    """

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
