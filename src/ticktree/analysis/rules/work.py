"""Rules about declared work: rates that cannot be right, and rates far below what the machine can do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from ticktree.analysis.context import Context
from ticktree.analysis.finding import MIN_SAVING_SHARE, Claim, Finding, Severity
from ticktree.analysis.loops import MIN_TICKS, LoopView, SectionView
from ticktree.analysis.machine import Ceilings, Machine, fastest_machine, slowest_machine
from ticktree.analysis.rules import Facts, finding
from ticktree.profile import path as paths

Kind: TypeAlias = Literal["bytes", "flops"]

# No machine will ever do more than that; with larger amounts, a rate would not be a finite number.
_MAX_AMOUNT = 10**100

# A measured ceiling may be exceeded by this factor: the best round of a second is within some percent of the maximum,
# and other libraries multiply somewhat faster than numpy's. Our own choice. Nothing may exceed a computed ceiling: it
# is a bound.
MARGIN = 1.25
# A byte that is copied moves three times: it is read, its destination is fetched, and it is written (McCalpin, STREAM,
# on write-allocate). A program that only reads, or writes past the caches, can be three times as fast as memcpy per
# byte.
MOVES_OF_A_COPY = 3
# If a call moves four times the size of the largest cache, little of it can have been cached; otherwise much may be.
CACHES_OVER = 4


@dataclass(frozen=True, slots=True)
class WorkRate:
    """The rate of one kind of work in one node, over all its calls.

    Attributes:
        section: the node.
        kind: of the work.
        amount: bytes or operations of all calls.
        ns: time of all calls, at least 1: the resolution of clocks.
    """

    section: SectionView
    kind: Kind
    amount: int
    ns: int

    @property
    def per_s(self) -> float:
        """Bytes or operations a second."""
        return float(self.amount) * 1e9 / self.ns

    @property
    def calls(self) -> int:
        """The number of calls, at least 1: a call that has not ended may already have declared work."""
        return self.section.node.count or 1

    @property
    def per_call(self) -> float:
        """Bytes or operations per call."""
        return float(self.amount) / self.calls

    def ceiling_per_s(self, ceilings: Ceilings) -> float | None:
        """Return the machine's ceiling, for all cores together; None if unknown."""
        if self.kind == "flops":
            return _flops_ceiling(ceilings)
        single = ceilings.memcpy_bytes_per_s
        if not ceilings.cache_bytes or self.per_call < CACHES_OVER * ceilings.cache_bytes:
            single = ceilings.cache_copy_bytes_per_s
        return None if single is None else single * MOVES_OF_A_COPY * ceilings.cores


def on_the_processor(sections: Sequence[SectionView]) -> Iterator[SectionView]:
    """Yield the sections without device time, also in their ancestors: a GPU's work is not the processor's."""
    skipped: set[int] = set()
    for section in sections:  # parents before their children
        if section.node.device is not None or section.node.on_devices or id(section) in skipped:
            skipped.update(id(below) for below in section.below)
        else:
            yield section


def work_rates(section: SectionView) -> Iterator[WorkRate]:
    """Yield the rates of bytes and of operations in `section`, unless they are meaningless."""
    work = section.node.work
    if work is None or section.node.total_ns < 0:
        return
    amounts: tuple[tuple[Kind, int], ...] = (("flops", work.flops), ("bytes", work.bytes))
    for kind, amount in amounts:
        if 0 < amount < _MAX_AMOUNT:
            yield WorkRate(section, kind, amount, max(1, section.node.total_ns))


def _flops_ceiling(ceilings: Ceilings) -> float | None:
    """Return the ceiling of all cores: more than was measured if the machine was busy then."""
    if ceilings.flops_per_s is None or not ceilings.is_measured:
        return ceilings.flops_per_s
    return max(ceilings.flops_per_s, ceilings.cores * (ceilings.flops_per_s_thread or 0.0))


# Slow means less than a fifth. One declared byte may stand for three that move (read, converted, written), and one
# declared operation may be a float64's, half as fast, in a convolution, which reaches about two thirds of the rate of
# a matrix product: none of that explains a fifth (docs/workloads/visual_sac.md: convolutions at 61 to 89 GFLOP/s where
# one thread can do 96, np.array at 0.45 of memcpy, copies into fresh memory at 0.1 to 0.2).
SLOW_SHARE = 0.2
# The rate must be that of the section itself, not of its children. Our own choice.
MIN_SELF_SHARE = 0.5
# A section with less CPU time waits for something else: a disk, a network, a lock. Our own choice.
MIN_CPU_SHARE = 0.5
# The time in which a run's threads waited for a core is not the section's fault, but it is never all of its time.
MAX_WAITING_SHARE = 0.95
# A call of numpy or torch takes a microsecond or more, in which about 50 kB of memory can be copied.
SMALL_BYTES = 50_000
# A product of two matrices of 128 x 128 is 4.2 MFLOP; smaller ones do not fill a core, let alone several.
SMALL_FLOPS = 4_000_000

# Maximum number of siblings to name that are also too fast.
_SIBLINGS_NAMED = 3


class _Excess(NamedTuple):
    """A rate above a machine's ceiling per second; it is certain if it is impossible in every number format."""

    rate: WorkRate
    ceiling: float
    is_certain: bool

    @property
    def factor(self) -> float:
        return self.rate.per_s / self.ceiling


class ImpossibleRateRule:
    """A section declares more work than the machine can do in its time: the number is wrong.

    Finds each section that declares a rate above what its machine can do; see docs/rules/impossible-rate.md.
    """

    name: ClassVar[str] = "impossible-rate"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each group of siblings that are too fast, about the section furthest above its ceiling.

        If the machine has a GPU, there is one finding for all.
        """
        ceilings = fastest_machine(context.profile)
        if ceilings is None:
            return
        names = Counter(section.name for section in context.run.sections)
        groups: dict[tuple[str, bool], list[_Excess]] = {}
        for section in on_the_processor(context.run.sections):
            excess = _excess(section, ceilings)
            if excess is not None:
                # With a GPU there is one reason for all of them.
                key = ("", False) if ceilings.gpus else (paths.parent(section.path), excess.is_certain)
                groups.setdefault(key, []).append(excess)
        for group in groups.values():
            yield self._finding(sorted(group, key=lambda excess: -excess.factor), ceilings, context, names)

    def _finding(
        self, group: Sequence[_Excess], ceilings: Ceilings, context: Context, names: Counter[str]
    ) -> Finding:
        worst = group[0]
        path, is_certain = worst.rate.section.path, worst.is_certain and not ceilings.gpus
        in_loop = any(path == loop or paths.is_descendant(path, loop) for loop in context.profile.loops)
        facts = _facts(worst, ceilings)
        name = worst.rate.section.name
        if names[name] > 1 and paths.parent(path):  # for example a layer, which every network has
            facts["parent"] = paths.parent(path)
        siblings = [*dict.fromkeys(excess.rate.section.name for excess in group)][1:]  # without the worst
        if siblings:
            facts |= {"others": ", ".join(siblings[:_SIBLINGS_NAMED]), "more_sections": len(siblings)}
        warning: Severity = "warning" if is_certain or in_loop else "info"
        severity: Severity = "critical" if is_certain and in_loop else warning
        excess = finding(self.name, path, facts, kind="measurement", severity=severity)
        return replace(excess, is_wrong_number=is_certain)


def _excess(section: SectionView, ceilings: Ceilings) -> _Excess | None:
    """Return the rate of `section` that exceeds the machine's ceiling most; None if none does."""
    excesses: list[_Excess] = []
    for rate in work_rates(section):
        ceiling = rate.ceiling_per_s(ceilings)
        if ceiling is None:
            continue
        is_bound = rate.kind == "flops" and not ceilings.is_measured
        limit = ceiling if is_bound else MARGIN * ceiling
        narrower = ceilings.low_precision_factor if rate.kind == "flops" else 1.0
        if rate.per_s > limit:
            excesses.append(_Excess(rate, ceiling, is_certain=rate.per_s > limit * narrower))
    return max(excesses, key=lambda excess: (excess.is_certain, excess.factor), default=None)


def _rate_facts(rate: WorkRate, ceiling: float) -> Facts:
    return {
        "section": rate.section.path,
        "kind": rate.kind,
        f"declared_{rate.kind}_per_s": rate.per_s,
        f"ceiling_{rate.kind}_per_s": ceiling,
        f"per_call_{rate.kind}": rate.per_call,
        "per_call_ns": rate.ns / rate.calls,
    }


def _facts(worst: _Excess, ceilings: Ceilings) -> Facts:
    rate, node = worst.rate, worst.rate.section.node
    is_measured = rate.kind == "bytes" or ceilings.is_measured
    facts: Facts = {
        **_rate_facts(rate, worst.ceiling),
        "too_fast_factor": worst.factor,
        "calls": node.count,
        "is_certain": worst.is_certain,
        "gpus": ceilings.gpus,
        "ceiling": "measured" if is_measured else "estimated",
    }
    if node.work is not None and node.work.items:
        items = node.work.items / rate.calls
        facts |= {"items": items, "possible_items": items / worst.factor}
    return facts


class _SlowRate(NamedTuple):
    """A rate far below the machine's ceiling, of the kind of work in which the section is closest to its ceiling."""

    rate: WorkRate
    ceiling: float
    core_share: float  # the share of its time in which it did not wait for a core

    @property
    def saved_ns(self) -> float:
        """How much shorter it would be per tick at the ceiling, on equally busy cores."""
        return self.rate.section.total_ns * (self.core_share - self.rate.per_s / self.ceiling)


class SlowRateRule:
    """A section declares far less work than the machine can do in its time.

    Finds each loop's sections that do their work far more slowly than the machine can; see docs/rules/slow-rate.md.
    """

    name: ClassVar[str] = "slow-rate"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop and kind of work, about the section in which most could be saved."""
        ceilings = slowest_machine(context.profile)
        if ceilings is None:
            return
        # Time in which other processes had its core does not make it slow; the rule contended reports that.
        core_share = 1 - min(MAX_WAITING_SHARE, Machine(context.profile).typical("waiting") or 0.0)
        on_processor = {section.path for section in on_the_processor(context.run.sections)}
        for view in context.repeated:
            sections = [section for section in view.path_sections if section.path in on_processor]
            rates = [_slow_rate(section, ceilings, core_share) for section in sections]
            for kind in ("bytes", "flops"):
                group = [slow for slow in rates if slow is not None and slow.rate.kind == kind]
                group.sort(key=lambda slow: -slow.saved_ns)
                share = view.share(sum(slow.saved_ns for slow in group))
                if group and view.ticks >= MIN_TICKS and share >= MIN_SAVING_SHARE:
                    yield self._finding(group, view, ceilings, share)

    def _finding(
        self, group: Sequence[_SlowRate], view: LoopView, ceilings: Ceilings, share: float
    ) -> Finding:
        worst, rate = group[0], group[0].rate
        facts: Facts = {
            **_rate_facts(rate, worst.ceiling),
            "slower_factor": worst.ceiling / rate.per_s,
            "calls": rate.section.count,
            "tick_ns": view.tick_ns,
            "reason": _reason(rate, ceilings),
            **({"more_sections": len(group) - 1} if len(group) > 1 else {}),
        }
        return finding(self.name, rate.section.path, facts, Claim(share, view.path))


def _slow_rate(section: SectionView, ceilings: Ceilings, core_share: float) -> _SlowRate | None:
    """Return the rate of `section` if it is slow, and not that of a child."""
    node = section.node
    waits = node.wait or section.is_in_wait
    if waits or node.total_ns <= 0 or node.self_ns < MIN_SELF_SHARE * node.total_ns:
        return None
    if node.cpu is not None and node.cpu.cpu_ns < MIN_CPU_SHARE * node.cpu.wall_ns:
        return None
    rates = [(rate, _measured_ceiling(rate.kind, ceilings)) for rate in work_rates(section)]
    comparable = [(rate, ceiling) for rate, ceiling in rates if ceiling is not None]
    if not comparable or len(comparable) < len(rates):
        return None
    # A section that computes on what it reads is as fast as possible if either rate is.
    rate, ceiling = max(comparable, key=lambda pair: pair[0].per_s / pair[1])
    is_slow = rate.per_s < SLOW_SHARE * ceiling * core_share
    return _SlowRate(rate, ceiling, core_share) if is_slow else None


def _measured_ceiling(kind: Kind, ceilings: Ceilings) -> float | None:
    """Return the measured ceiling; no program reaches an estimated one."""
    if kind == "bytes":
        return ceilings.memcpy_bytes_per_s
    return ceilings.flops_per_s if ceilings.is_measured else None


def _reason(rate: WorkRate, ceilings: Ceilings) -> str:
    """Return the most likely reason, on which the remedy depends."""
    if rate.kind == "bytes":
        return "small calls" if rate.per_call < SMALL_BYTES else "memory access"
    single = ceilings.flops_per_s_thread
    is_single = single is not None and single < SLOW_SHARE * (ceilings.flops_per_s or 0)
    if is_single and rate.per_s >= SLOW_SHARE * (single or 0):
        return "one thread"
    return "small calls" if rate.per_call < SMALL_FLOPS else "layout"
