"""Rules about copies: data that is copied twice, or gathered from single arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, NS_PER_SECOND, SectionView
from ticktree.analysis.machine import slowest_machine
from ticktree.analysis.rules.lines import is_hot, line_finding
from ticktree.analysis.section_kinds import makes_an_array, moves_data, per_tick_ns
from ticktree.profile import path as paths
from ticktree.profile.noted_lines import ARRAY_OF_LIST

# Smaller things are in the processor's cache when they are copied again, and that costs next to nothing: a
# megabyte is about what a core has to itself. And an array of less is made in about the time that a call takes. Our
# own choice.
LEAST_BYTES = 1_000_000
# Two passes over the same bytes take comparable times. What took less than a tenth has not touched them: a
# conversion that finds nothing to convert returns the same memory. Our own choice.
COMPARABLE_SHARE = 0.1

# Copying at this part of the machine's speed is as good as a plain copy: making the array before saves nothing.
# Numpy makes an array of 256 at about half the speed of memcpy (docs/workloads/visual_sac.md). Our own choice between
# the two.
GOOD_RATE_SHARE = 0.7
# It must be this share of its batch; otherwise the batch is slow for another reason. Our own choice.
OF_THE_BATCH_SHARE = 0.3


class CopiedTwiceRule:
    """The same data is copied, and then copied again.

    Finds each section in which several operations process equally many bytes; see docs/rules/copied-twice.md.
    """

    name: ClassVar[str] = "copied-twice"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each group of copies with one parent, called equally often, of equally many bytes."""
        for view in context.repeated:
            copies = sorted((section for section in view.path_sections if _is_copy(section)), key=_data)
            for _, group in groupby(copies, key=_data):
                passes = sorted(group, key=lambda section: (-section.total_ns, section.path))
                # The others were too fast to have processed the data.
                least_ns = COMPARABLE_SHARE * passes[0].total_ns
                passes = [section for section in passes if section.total_ns >= least_ns]
                share = view.share(per_tick_ns(passes[1:]))
                if len(passes) > 1 and share >= LEAST_SHARE:
                    yield self._finding(passes, share)

    def _finding(self, passes: Sequence[SectionView], share: float) -> Finding:
        longest, others = passes[0], passes[1:]
        return Finding(
            rule=self.name,
            claim=Claim(share, longest.view.path),
            path=others[0].path,
            facts={
                "section": longest.path,
                "other_section": others[0].path,
                "parent": paths.parent(longest.path),
                "per_call_bytes": longest.bytes_per_call or 0.0,
                "copies": len(passes),
                "in_section_ns": longest.call_ns,
                "in_others_ns": per_tick_ns(others) / longest.calls,
                "calls": longest.count,
            },
        )


def _is_copy(section: SectionView) -> bool:
    is_large = (section.bytes_per_call or 0) >= LEAST_BYTES
    return is_large and section.count >= LEAST_TICKS and moves_data(section.name)


def _data(section: SectionView) -> tuple[str, int, float]:
    """Return what is the same for copies of the same data: where they are, how often, and how many bytes."""
    return paths.parent(section.path), section.node.count, section.bytes_per_call or 0.0


class ListOfArraysRule:
    """One array is made of a list of arrays again for every batch.

    Finds each batch made of single arrays when it is drawn; see docs/rules/list-of-arrays.md.
    """

    name: ClassVar[str] = "list-of-arrays"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each section whose batches are made of single arrays, slower than memory is copied.

        Also for each in which samples show that arrays are made of lists.
        """
        for time in context.line_times:
            if time.kind == ARRAY_OF_LIST and is_hot(time):
                yield line_finding(self.name, time, time.ns)
        known = slowest_machine(context.profile)
        memcpy = known.memcpy_bytes_per_s if known is not None and known.is_measured else None
        for view in context.repeated:
            for batch, made in _batches(view.path_sections).values():
                share = _saved_share(batch, made, memcpy)
                if share >= LEAST_SHARE:
                    yield self._finding(batch, made, share)

    def _finding(self, batch: SectionView, made: Sequence[SectionView], share: float) -> Finding:
        longest = max(made, key=lambda section: section.total_ns)
        return Finding(
            rule=self.name,
            claim=Claim(share, batch.view.path),
            path=longest.path,
            facts={
                "section": longest.path,
                "batch_section": batch.path,
                "per_batch_ns": per_tick_ns(made) / batch.calls,
                "batch_ns": batch.call_ns,
                "batch_bytes": sum((each.bytes_per_call or 0) * each.calls for each in made) / batch.calls,
                "copied_bytes_per_s": _bytes_per_s(made),
                "items": batch.items_per_call or 0.0,
                "batches": batch.count,
            },
        )


def _batches(sections: Iterable[SectionView]) -> Mapping[str, tuple[SectionView, list[SectionView]]]:
    """Return each section that declares items, with the sections in it that make arrays of them."""
    batches: dict[str, tuple[SectionView, list[SectionView]]] = {}
    for section in sections:
        if not _makes_array(section) or any(map(_makes_array, section.above())):
            continue
        batch = next((each for each in (section, *section.above()) if (each.items_per_call or 0) >= 2), None)
        if batch is not None and batch.count >= LEAST_TICKS and section.count >= batch.count:
            batches.setdefault(batch.path, (batch, []))[1].append(section)
    return batches


def _makes_array(section: SectionView) -> bool:
    return makes_an_array(section.name) and (section.bytes_per_call or 0) >= LEAST_BYTES


def _saved_share(batch: SectionView, made: Sequence[SectionView], memcpy: float | None) -> float:
    """Return what part of the tick copying at the machine's speed would save; 0 where the batch is not slow for it."""
    made_ns = per_tick_ns(made)
    slow = 1 - _bytes_per_s(made) / memcpy if memcpy is not None else 1.0
    if slow <= 1 - GOOD_RATE_SHARE or made_ns < OF_THE_BATCH_SHARE * batch.total_ns:
        return 0.0
    return batch.view.share(made_ns * slow)


def _bytes_per_s(made: Sequence[SectionView]) -> float:
    """Return the rate at which all of them together processed their declared bytes."""
    processed = sum((section.bytes_per_call or 0) * section.node.count for section in made)
    total_ns = sum(section.node.total_ns for section in made)
    return processed * NS_PER_SECOND / total_ns if total_ns > 0 else 0.0
