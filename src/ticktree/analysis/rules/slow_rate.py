"""A declared rate that is far below what the machine can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.machine import Ceilings, Machine, slowest_machine
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import amount, duration, times
from ticktree.analysis.work_rates import UNITS, Kind, WorkRate, on_the_processor, work_rates

# Far below is less than a fifth. What is declared as one byte may stand for three that move (read, converted,
# written), and what is declared as an operation may be a float64's, half as fast, in a convolution, which reaches
# some two thirds of a matrix product: none of that explains a fifth (docs/workloads/visual_sac.md: convolutions at
# 61 to 89 GFLOP/s where one thread can do 96, np.array at 0.45 of memcpy, copies into fresh memory at 0.1 to 0.2).
SLOW_SHARE = 0.2
# The rate must be the section's own: what sections in it take is theirs to answer for. Our own choice.
LEAST_OWN_SHARE = 0.5
# Who has the processor for less of the time waits for something else: a disk, a network, a lock. Our own choice.
LEAST_CPU_SHARE = 0.5
# The time that a run's threads waited for a core counts as nobody's, but never all of it.
MOST_WAITING_SHARE = 0.95
# A call of numpy's or torch's takes a microsecond or several, in which memory copies some 50 kB.
SMALL_BYTES = 50_000
# A product of two matrices of 128 x 128 is 4.2 MFLOP; smaller ones do not fill a core, let alone several.
SMALL_FLOPS = 4_000_000


@dataclass(frozen=True, slots=True)
class _Slow:
    """A section that is far slower than the machine.

    Attributes:
        section: the section.
        rate: of the kind of work in which it is least slow.
        ceiling: what the machine does a second.
        kept_share: what part of the time it is not known to have waited for a core.
    """

    section: SectionView
    rate: WorkRate
    ceiling: float
    kept_share: float

    @property
    def saved_ns(self) -> float:
        """How much shorter it would be at the ceiling, with cores as busy, per tick."""
        return self.section.total_ns * (self.kept_share - self.rate.per_s / self.ceiling)


class SlowRateRule:
    """Each loop's sections that do their work far slower than the machine can; see docs/rules/slow-rate.md."""

    name: ClassVar[str] = "slow-rate"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop and kind of work, about the section in which most could be saved."""
        here = slowest_machine(seen.profile)
        if here is None:
            return
        # What others took from it is not its own slowness; another rule tells who they were.
        kept_share = 1 - min(MOST_WAITING_SHARE, Machine(seen.profile).typical("waiting") or 0.0)
        judged = {section.path for section in on_the_processor(seen.run.sections)}
        for view in seen.repeated:
            sections = [section for section in view.path_sections if section.path in judged]
            slow = [found for section in sections if (found := _slow(section, here, kept_share)) is not None]
            for kind in ("bytes", "flops"):
                group = [each for each in slow if each.rate.kind == kind]
                share = view.share(sum(each.saved_ns for each in group))
                if group and view.ticks >= LEAST_TICKS and share >= LEAST_SHARE:
                    yield self._finding(sorted(group, key=lambda each: -each.saved_ns), view, here, share)

    def _finding(self, group: Sequence[_Slow], view: LoopView, here: Ceilings, share: float) -> Finding:
        worst, kind = group[0], group[0].rate.kind
        return Finding(
            rule=self.name,
            claim=Claim(share, view.path),
            path=worst.section.path,
            message=_said(worst, len(group) - 1, here),
            evidence={
                f"declared_{kind}_per_s": worst.rate.per_s,
                f"at_most_{kind}_per_s": worst.ceiling,
                "a_call_ns": worst.section.call_ns,
                "calls": worst.section.count,
                "each_time_ns": view.tick_ns,
            },
        )


def _slow(section: SectionView, here: Ceilings, kept_share: float) -> _Slow | None:
    """Return how slow `section` is; None where it is not, or where its rate is not its own."""
    node = section.node
    waits = node.wait or section.is_in_wait
    if waits or node.total_ns <= 0 or node.self_ns < LEAST_OWN_SHARE * node.total_ns:
        return None
    if node.cpu is not None and node.cpu.cpu_ns < LEAST_CPU_SHARE * node.cpu.wall_ns:
        return None
    known = [
        (rate, ceiling) for rate in work_rates(section) if (ceiling := _ceiling(rate.kind, here)) is not None
    ]
    if not known or len(known) < sum(1 for _ in work_rates(section)):
        return None
    # What computes on what it reads is as fast as it can be where either is.
    rate, ceiling = max(known, key=lambda each: each[0].per_s / each[1])
    is_slow = rate.per_s < SLOW_SHARE * ceiling * kept_share
    return _Slow(section, rate, ceiling, kept_share) if is_slow else None


def _ceiling(kind: Kind, here: Ceilings) -> float | None:
    """Return what was measured; nothing reaches what was only reckoned."""
    if kind == "bytes":
        return here.memcpy_bytes_per_s
    return here.flops_per_s if here.is_measured else None


def _said(worst: _Slow, others: int, here: Ceilings) -> str:
    rate, unit = worst.rate, UNITS[worst.rate.kind]
    verb = "moves" if rate.kind == "bytes" else "does"
    what = "memory is copied here" if rate.kind == "bytes" else "this machine multiplies"
    said = (
        f"{worst.section.name} {verb} {amount(rate.per_call, unit)} in {duration(rate.ns / rate.calls)}: "
        f"{amount(rate.per_s, unit + '/s')}, {times(worst.ceiling / rate.per_s)} slower than {what} "
        f"({amount(worst.ceiling, unit + '/s')}); {_perhaps(rate, here)}"
    )
    if others:
        said += f"; so {'is one more section' if others == 1 else f'are {others:,} more sections'} there"
    return said


def _perhaps(rate: WorkRate, here: Ceilings) -> str:
    """Return the likeliest reasons, and what to do about them."""
    if rate.kind == "bytes":
        if rate.per_call < SMALL_BYTES:
            return "it is so little a call that calling takes longer: move more at a time"
        return (
            "perhaps fresh memory, a list of arrays, or every so many bytes of a larger array: "
            "write into memory that is used again, in its order"
        )
    single = here.flops_per_s_thread
    if (
        single is not None
        and single < SLOW_SHARE * (here.flops_per_s or 0)
        and rate.per_s >= SLOW_SHARE * single
    ):
        return f"it is what one thread does ({amount(single, 'FLOP/s')}): let it use more, if cores are free"
    if rate.per_call < SMALL_FLOPS:
        return "it is so little a call that it fills no core: larger batches, fewer calls"
    return "perhaps small batches, float64, or a layout that has to be copied first"
