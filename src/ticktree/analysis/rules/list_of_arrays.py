"""One array is made of a list of arrays again for every batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, SectionView
from ticktree.analysis.machine import slowest_machine
from ticktree.analysis.section_kinds import makes_an_array
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
        for view in seen.repeated:
            for batch, made in _batches(view.path_sections).values():
                one = _judged(batch, made, memcpy)
                if one is not None:
                    yield self._finding(batch, made, one)

    def _finding(self, batch: SectionView, made: Sequence[SectionView], at_stake: float) -> Finding:
        chief = max(made, key=lambda section: section.total_ns)
        took_ns, rate = sum(section.total_ns for section in made), _rate(made)
        items = batch.items_per_call or 0.0
        each = f"{duration(took_ns / batch.calls)} of the {duration(batch.call_ns)} of each {batch.name}"
        return Finding(
            rule=self.name,
            claim=Claim(at_stake, batch.view.path),
            path=chief.path,
            message=(
                f"{chief.name} makes one array of {items:,.0f} for every {batch.name}: it takes {each}, "
                f"{size(rate)} a second; keep what is stored in one preallocated array, written when it arrives, and "
                "take each batch out of that by its indices, into memory that is used again"
            ),
            evidence={
                "in_it_ns": took_ns / batch.calls,
                "a_batch_ns": batch.call_ns,
                "a_batch_bytes": sum((section.bytes_per_call or 0) * section.calls for section in made)
                / batch.calls,
                "a_second_bytes": rate,
                "items": items,
                "batches": batch.count,
            },
        )


def _batches(sections: Iterable[SectionView]) -> Mapping[int, tuple[SectionView, list[SectionView]]]:
    """Return each section that says how many items it handles with those in it that make arrays of that many."""
    found: dict[int, tuple[SectionView, list[SectionView]]] = {}
    for section in sections:
        if _makes_one(section) and not any(map(_makes_one, section.above())):
            batch = next(
                (each for each in (section, *section.above()) if (each.items_per_call or 0) >= 2), None
            )
            if batch is not None and batch.count >= LEAST_TICKS and section.count >= batch.count:
                found.setdefault(id(batch), (batch, []))[1].append(section)
    return found


def _makes_one(section: SectionView) -> bool:
    return makes_an_array(section.name) and (section.bytes_per_call or 0) >= LEAST_BYTES


def _judged(batch: SectionView, made: Sequence[SectionView], memcpy: float | None) -> float | None:
    """Return what part of the loop could be saved; None where that is not worth a word."""
    took_ns, rate = sum(section.total_ns for section in made), _rate(made)
    slow = 1 - rate / memcpy if memcpy is not None else 1.0
    if slow <= 1 - GOOD_RATE_SHARE or took_ns < OF_THE_BATCH_SHARE * batch.total_ns:
        return None
    at_stake = batch.view.share(took_ns * slow)
    return at_stake if at_stake >= LEAST_SHARE else None


def _rate(made: Sequence[SectionView]) -> float:
    """Return how fast all of them together went over what they said they did."""
    moved = sum((section.bytes_per_call or 0) * section.node.count for section in made)
    total_ns = sum(section.node.total_ns for section in made)
    return moved * 1e9 / total_ns if total_ns > 0 else 0.0
