"""By writer: what each process, thread or role had of a node, and how far they are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ticktree.analysis.workers.roles import Unit


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the middle and the most that anyone had.

    Attributes:
        units: how many had any.
        min_ns: the least of any.
        median_ns: half of them had no more.
        max_ns: the most.
        slowest: who had it.
    """

    units: int
    min_ns: int
    median_ns: int
    max_ns: int
    slowest: Unit


def amounts(by_writer: Mapping[str, int], units: Sequence[Unit]) -> dict[Unit, int]:
    """Return what each of `units` had of something known by writer, in their order; who had none is left out."""
    found = ((unit, [by_writer[writer] for writer in unit.writers if writer in by_writer]) for unit in units)
    return {unit: sum(parts) for unit, parts in found if parts}


def spread(had: Mapping[Unit, int]) -> Spread | None:
    """Return how far apart the amounts are; None where nobody had any.

    Of several that had the most, the one that started first is the slowest.
    """
    if not had:
        return None
    slowest = max(had, key=lambda unit: had[unit])
    return Spread(len(had), min(had.values()), round(median(had.values())), had[slowest], slowest)
