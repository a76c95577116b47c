"""The same data is copied, and then copied again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import ClassVar

from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, SectionView
from ticktree.analysis.section_kinds import moves_data
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
        for view in seen.repeated:
            copies = [section for section in view.path_sections if _is_copy(section)]
            ordered = sorted(copies, key=_data)
            for _, group in groupby(ordered, key=_data):
                passes = _comparable(sorted(group, key=lambda section: (-section.total_ns, section.path)))
                at_stake = view.share(sum(section.total_ns for section in passes[1:]))
                if len(passes) > 1 and at_stake >= LEAST_SHARE:
                    yield self._finding(passes, at_stake)

    def _finding(self, passes: Sequence[SectionView], at_stake: float) -> Finding:
        dearest, again = passes[0], passes[1:]
        moved = dearest.bytes_per_call or 0.0
        took = " and ".join(f"{section.name} ({duration(section.call_ns)} a call)" for section in again)
        return Finding(
            rule=self.name,
            claim=Claim(at_stake, dearest.view.path),
            path=again[0].path,
            message=(
                f"{took} {'goes' if len(again) == 1 else 'go'} over as many bytes, {size(moved)}, as {dearest.name} "
                f"({duration(dearest.call_ns)}) in the same {_where(dearest)}: do both in one pass, such as `out=` of "
                "the first into the memory and the type that the last one needs"
            ),
            evidence={
                "each_time_bytes": moved,
                "copies": len(passes),
                "in_the_dearest_ns": dearest.call_ns,
                "in_the_others_ns": sum(section.total_ns for section in again) / dearest.calls,
                "calls": dearest.count,
            },
        )


def _is_copy(section: SectionView) -> bool:
    moved = section.bytes_per_call
    return (
        moved is not None
        and moved >= LEAST_BYTES
        and section.count >= LEAST_TICKS
        and moves_data(section.name)
    )


def _data(section: SectionView) -> tuple[str, int, int]:
    """Return what is the same for copies of the same data: where they are, how often, and how many bytes."""
    work = section.node.work
    around = section.parent.path if section.parent is not None else section.view.path
    return around, section.node.count, work.bytes if work is not None else 0


def _comparable(sections: Sequence[SectionView]) -> list[SectionView]:
    """Return those of `sections`, the dearest of which is first, that took long enough to have gone over the data."""
    return [section for section in sections if section.total_ns >= COMPARABLE_SHARE * sections[0].total_ns]


def _where(section: SectionView) -> str:
    return section.parent.name if section.parent is not None else section.view.name
