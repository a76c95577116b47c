"""One array is made of a list of arrays again for every batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from ticktree.analysis.cycles.cycle import LEAST_TRIPS, Spot
from ticktree.analysis.cycles.kinds import makes_an_array
from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.machine.ceilings import slowest_machine
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, size

# Less than this is handed over in about the time a call takes anyway, whatever it is made of. Our own choice.
LEAST_BYTES = 1_000_000
# Copying at this part of the machine's speed is as good as a plain copy: nothing is won by making the array
# before. Numpy makes an array of 256 at about half the speed of memcpy (docs/workloads/visual_sac.md). Our own
# choice between the two.
GOOD_RATE_SHARE = 0.7
# It must be so much of what it is done for, the batch: else the batch is slow for another reason. Our own choice.
OF_THE_BATCH_SHARE = 0.3


class ListOfArraysRule:
    """Each batch made of single arrays when it is drawn; see docs/rules/list-of-arrays.md."""

    name: ClassVar[str] = "list-of-arrays"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each section whose batches are made of single arrays, slower than memory is copied."""
        known = slowest_machine(seen.profile)
        memcpy = known.memcpy_bytes_per_s if known is not None and known.is_measured else None
        for cycle in seen.cycles:
            for batch, made in _batches(cycle.spots).values():
                one = _judged(batch, made, memcpy)
                if one is not None:
                    yield self._finding(batch, made, one)

    def _finding(self, batch: Spot, made: Sequence[Spot], at_stake: float) -> Finding:
        chief = max(made, key=lambda spot: spot.ns)
        took_ns, rate = sum(spot.ns for spot in made), _rate(made)
        items = batch.items_a_call or 0.0
        each = f"{duration(took_ns / batch.calls)} of the {duration(batch.mean_ns)} of each {batch.name}"
        return Finding(
            rule=self.name,
            claim=Claim(at_stake, batch.cycle.path),
            path=chief.path,
            message=(
                f"{chief.name} makes one array of {items:,.0f} for every {batch.name}: it takes {each}, "
                f"{size(rate)} a second; keep what is stored in one preallocated array, written when it arrives, and "
                "take each batch out of that by its indices, into memory that is used again"
            ),
            evidence={
                "in_it_ns": took_ns // batch.calls,
                "a_batch_ns": batch.mean_ns,
                "a_batch_bytes": sum((spot.bytes_a_call or 0) * spot.calls for spot in made) / batch.calls,
                "a_second_bytes": rate,
                "items": items,
                "batches": batch.calls,
            },
        )


def _batches(spots: Sequence[Spot]) -> Mapping[int, tuple[Spot, list[Spot]]]:
    """Return each section that says how many items it handles with those in it that make arrays of that many."""
    found: dict[int, tuple[Spot, list[Spot]]] = {}
    for spot in spots:
        if _makes_one(spot) and not any(map(_makes_one, spot.above())):
            batch = next((each for each in (spot, *spot.above()) if (each.items_a_call or 0) >= 2), None)
            if batch is not None and batch.calls >= LEAST_TRIPS and spot.calls >= batch.calls:
                found.setdefault(id(batch), (batch, []))[1].append(spot)
    return found


def _makes_one(spot: Spot) -> bool:
    return makes_an_array(spot.name) and (spot.bytes_a_call or 0) >= LEAST_BYTES


def _judged(batch: Spot, made: Sequence[Spot], memcpy: float | None) -> float | None:
    """Return what part of the cycle could be saved; None where that is not worth a word."""
    took_ns, rate = sum(spot.ns for spot in made), _rate(made)
    slow = 1 - rate / memcpy if memcpy is not None else 1.0
    if slow <= 1 - GOOD_RATE_SHARE or took_ns < OF_THE_BATCH_SHARE * batch.ns:
        return None
    at_stake = batch.cycle.share(took_ns * slow)
    return at_stake if at_stake >= LEAST_SHARE else None


def _rate(made: Sequence[Spot]) -> float:
    """Return how fast all of them together went over what they said they did."""
    moved = sum((spot.bytes_a_call or 0) * spot.place.node.count for spot in made)
    total_ns = sum(spot.place.node.total_ns for spot in made)
    return moved * 1e9 / total_ns if total_ns > 0 else 0.0
