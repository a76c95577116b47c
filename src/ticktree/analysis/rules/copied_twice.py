"""The same data is copied, and then copied again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import ClassVar

from ticktree.analysis.cycles.cycle import LEAST_TRIPS, Spot
from ticktree.analysis.cycles.kinds import moves_data
from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, size

# Smaller things are in the processor's cache when they are copied again, and that costs next to nothing: a
# megabyte is about what a core has to itself. Our own choice.
LEAST_BYTES = 1_000_000
# Who goes over the same bytes takes a comparable time. Who took less than a tenth of it has not touched them: a
# conversion that finds nothing to convert hands the same memory on. Our own choice.
COMPARABLE_SHARE = 0.1


class CopiedTwiceRule:
    """Each section in which several operations go over as many bytes; see docs/rules/copied-twice.md."""

    name: ClassVar[str] = "copied-twice"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each group of copies beside each other, called as often, of equally many bytes."""
        for cycle in seen.cycles:
            copies = [spot for spot in cycle.spots if _is_copy(spot)]
            ordered = sorted(copies, key=_data)
            for _, group in groupby(ordered, key=_data):
                passes = _comparable(sorted(group, key=lambda spot: (-spot.ns, spot.path)))
                at_stake = cycle.share(sum(spot.ns for spot in passes[1:]))
                if len(passes) > 1 and at_stake >= LEAST_SHARE:
                    yield self._finding(passes, at_stake)

    def _finding(self, passes: Sequence[Spot], at_stake: float) -> Finding:
        dearest, again = passes[0], passes[1:]
        moved = dearest.bytes_a_call or 0.0
        took = " and ".join(f"{spot.name} ({duration(spot.mean_ns)} a call)" for spot in again)
        return Finding(
            rule=self.name,
            claim=Claim(at_stake, dearest.cycle.path),
            path=again[0].path,
            message=(
                f"{took} {'goes' if len(again) == 1 else 'go'} over as many bytes, {size(moved)}, as {dearest.name} "
                f"({duration(dearest.mean_ns)}) in the same {_where(dearest)}: do both in one pass, such as `out=` of "
                "the first into the memory and the type that the last one needs"
            ),
            evidence={
                "each_time_bytes": moved,
                "copies": len(passes),
                "in_the_dearest_ns": dearest.mean_ns,
                "in_the_others_ns": sum(spot.ns for spot in again) // dearest.calls,
                "calls": dearest.calls,
            },
        )


def _is_copy(spot: Spot) -> bool:
    moved = spot.bytes_a_call
    return moved is not None and moved >= LEAST_BYTES and spot.calls >= LEAST_TRIPS and moves_data(spot.name)


def _data(spot: Spot) -> tuple[str, int, int]:
    """Return what is the same for copies of the same data: where they are, how often, and how many bytes."""
    work = spot.place.node.work
    around = spot.parent.path if spot.parent is not None else spot.cycle.path
    return around, spot.place.node.count, work.bytes if work is not None else 0


def _comparable(spots: Sequence[Spot]) -> list[Spot]:
    """Return those of `spots`, the dearest of which is first, that took long enough to have gone over the data."""
    return [spot for spot in spots if spot.ns >= COMPARABLE_SHARE * spots[0].ns]


def _where(spot: Spot) -> str:
    return spot.parent.name if spot.parent is not None else spot.cycle.name
