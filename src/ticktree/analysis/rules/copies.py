"""Rules about copies: data that is copied twice, or gathered from single arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import MIN_SAVING_SHARE, Claim, Finding
from ticktree.analysis.loops import MIN_TICKS, NS_PER_SECOND, SectionView
from ticktree.analysis.machine import slowest_machine
from ticktree.analysis.rules import Facts, finding, longest
from ticktree.analysis.rules.lines import is_hot, line_finding
from ticktree.analysis.section_kinds import makes_an_array, moves_data, per_tick_ns
from ticktree.profile import path as paths
from ticktree.profile.noted_lines import ARRAY_OF_LIST

# Smaller data is in the processor's cache when it is copied again, and that costs next to nothing: a core has about a
# megabyte of cache to itself. And a smaller array is made in about the time that a call takes. Our own choice.
MIN_BYTES = 1_000_000
# Two passes over the same bytes take comparable times. A section that took less than a tenth did not touch them: a
# conversion with nothing to convert returns the same memory. Our own choice.
COMPARABLE_SHARE = 0.1

# Copying at this fraction of the machine's speed is as good as a plain copy: making the array in advance saves
# nothing. Numpy makes an array of 256 at about half the speed of memcpy (docs/workloads/visual_sac.md). Our own choice
# between the two.
GOOD_RATE_SHARE = 0.7
# The arrays must take this share of their batch; otherwise the batch is slow for another reason. Our own choice.
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
                # Faster sections cannot have processed the data.
                min_ns = COMPARABLE_SHARE * passes[0].total_ns
                passes = [section for section in passes if section.total_ns >= min_ns]
                share = view.share(per_tick_ns(passes[1:]))
                if len(passes) > 1 and share >= MIN_SAVING_SHARE:
                    yield self._finding(passes, share)

    def _finding(self, passes: Sequence[SectionView], share: float) -> Finding:
        first, repeats = passes[0], passes[1:]
        facts: Facts = {
            "section": first.path,
            "other_section": repeats[0].path,
            "parent": paths.parent(first.path),
            "per_call_bytes": first.bytes_per_call or 0.0,
            "copies": len(passes),
            "in_section_ns": first.call_ns,
            "in_others_ns": per_tick_ns(repeats) / first.calls,
            "calls": first.count,
        }
        return finding(self.name, repeats[0].path, facts, Claim(share, first.view.path))


def _is_copy(section: SectionView) -> bool:
    is_large = (section.bytes_per_call or 0) >= MIN_BYTES
    return is_large and section.count >= MIN_TICKS and moves_data(section.name)


def _data(section: SectionView) -> tuple[str, int, float]:
    """Return what copies of the same data have in common: their parent, number of calls, and bytes per call."""
    return paths.parent(section.path), section.node.count, section.bytes_per_call or 0.0


class ListOfArraysRule:
    """One array is made of a list of arrays again for every batch.

    Finds each batch made of single arrays when it is drawn; see docs/rules/list-of-arrays.md.
    """

    name: ClassVar[str] = "list-of-arrays"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each section that makes batches of single arrays more slowly than memory is copied.

        Also for each section in which samples show that arrays are made of lists.
        """
        for time in context.line_times:
            if time.kind == ARRAY_OF_LIST and is_hot(time):
                yield line_finding(self.name, time, time.ns)
        machine = slowest_machine(context.profile)
        memcpy = machine.memcpy_bytes_per_s if machine is not None and machine.is_measured else None
        for view in context.repeated:
            for batch, arrays in _batches(view.path_sections).values():
                share = _saved_share(batch, arrays, memcpy)
                if share >= MIN_SAVING_SHARE:
                    yield self._finding(batch, arrays, share)

    def _finding(self, batch: SectionView, arrays: Sequence[SectionView], share: float) -> Finding:
        path = longest(arrays).path
        facts: Facts = {
            "section": path,
            "batch_section": batch.path,
            "per_batch_ns": per_tick_ns(arrays) / batch.calls,
            "batch_ns": batch.call_ns,
            "batch_bytes": sum((section.bytes_per_call or 0) * section.calls for section in arrays)
            / batch.calls,
            "copied_bytes_per_s": _bytes_per_s(arrays),
            "items": batch.items_per_call or 0.0,
            "batches": batch.count,
        }
        return finding(self.name, path, facts, Claim(share, batch.view.path))


def _batches(sections: Iterable[SectionView]) -> Mapping[str, tuple[SectionView, list[SectionView]]]:
    """Return each section that declares items, with the sections in it that make arrays of them."""
    batches: dict[str, tuple[SectionView, list[SectionView]]] = {}
    for section in sections:
        if not _makes_array(section) or any(map(_makes_array, section.above())):
            continue
        lineage = (section, *section.above())
        batch = next((batch for batch in lineage if (batch.items_per_call or 0) >= 2), None)
        if batch is not None and batch.count >= MIN_TICKS and section.count >= batch.count:
            batches.setdefault(batch.path, (batch, []))[1].append(section)
    return batches


def _makes_array(section: SectionView) -> bool:
    return makes_an_array(section.name) and (section.bytes_per_call or 0) >= MIN_BYTES


def _saved_share(batch: SectionView, arrays: Sequence[SectionView], memcpy: float | None) -> float:
    """Return the share of the tick that copying at the machine's speed would save; 0 if that is not why it is slow."""
    arrays_ns = per_tick_ns(arrays)
    slow = 1 - _bytes_per_s(arrays) / memcpy if memcpy is not None else 1.0
    if slow <= 1 - GOOD_RATE_SHARE or arrays_ns < OF_THE_BATCH_SHARE * batch.total_ns:
        return 0.0
    return batch.view.share(arrays_ns * slow)


def _bytes_per_s(arrays: Sequence[SectionView]) -> float:
    """Return the rate at which all of them together processed their declared bytes."""
    total_bytes = sum((section.bytes_per_call or 0) * section.node.count for section in arrays)
    total_ns = sum(section.node.total_ns for section in arrays)
    return total_bytes * NS_PER_SECOND / total_ns if total_ns > 0 else 0.0
