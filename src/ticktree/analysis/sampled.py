"""What self time consists of: the functions and lines in its stack samples, and its share at noted lines.

Rows are inferred: they divide the node's self time in proportion to the samples.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ticktree.analysis.loops import LoopView, SectionView
from ticktree.profile import CodeLine, Profile, SampledStack, Samples, Weight
from ticktree.profile.noted_lines import (
    EAGER_LOG,
    SAMPLED_LINES,
    NotedLines,
    is_logged,
    kind_of,
    read_noted_lines,
)
from ticktree.profile.samples import MIN_SAMPLES, STATES

# A function with a smaller share of the time is not the dominant one.
DOMINANT_SHARE = 0.5
_Z = 1.96  # of an interval of 95%
# Shown in place of code: a task that is suspended, and a thread outside Python code.
SUSPENDED = "(suspended)"
NO_CODE = "(no Python code)"


@dataclass(frozen=True, slots=True)
class LineShare:
    """A line of a function.

    Attributes:
        line: its number; 0 if unknown.
        share: of the function's samples, by time.
    """

    line: int
    share: float


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A function in which self time was spent while it was the innermost.

    Attributes:
        function: its qualified name.
        file: its file.
        ns: its part of the self time.
        share: of the node's self time; 0 to 1.
        low, high: the 95% interval of `share` (Wilson, JASA 22, 1927).
        count: its samples.
        lines: by share, the largest first.
        states: the share of its time in each of `profile.samples.STATES` that occurs.
    """

    function: str
    file: str
    ns: int
    share: float
    low: float
    high: float
    count: int
    lines: tuple[LineShare, ...]
    states: Mapping[str, float]


@dataclass(slots=True)
class SampledCall:
    """A function in the tree of sampled calls below one node.

    Attributes:
        function: its qualified name; empty for the tree's root.
        file: its file.
        ns: its part of the self time, calls included.
        count: its samples, calls included.
        lines: nanoseconds by line of the function, calls included.
        self_ns: time while it was the innermost.
        calls: the functions that it called, by function and file.
    """

    function: str = ""
    file: str = ""
    ns: int = 0
    count: int = 0
    lines: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    self_ns: int = 0
    calls: dict[tuple[str, str], SampledCall] = field(default_factory=dict)

    @property
    def hottest_line(self) -> int:
        """The line with the largest share of its time; 0 if unknown."""
        return min(self.lines, key=lambda line: (-self.lines[line], line), default=0)

    def in_order(self) -> list[SampledCall]:
        """Return the functions that it called, the longest first."""
        return sorted(self.calls.values(), key=lambda call: (-call.ns, call.function, call.file))


@dataclass(frozen=True, slots=True)
class SampledTime:
    """Samples, and the time that they divide.

    Attributes:
        stacks: the weight of each stack.
        ns: the time.
    """

    stacks: Mapping[SampledStack, Weight]
    ns: int

    @property
    def count(self) -> int:
        """How many samples there are."""
        return sum(weight.count for weight in self.stacks.values())

    def rows(self) -> list[SampledRow]:
        """Return a row per innermost function, the largest first; they sum to the time, to the nanosecond."""
        groups: dict[tuple[str, str], list[SampledStack]] = defaultdict(list)
        for stack in self.stacks:
            inner = lines_of(stack)[-1]
            groups[inner.function, inner.file].append(stack)
        weights, parts = self._weights(), self.parts()
        total, count = sum(weights.values()), self.count  # once, for there may be thousands of rows
        rows = []
        for (function, file), group in groups.items():
            weight = sum(weights[stack] for stack in group)
            lines: dict[int, int] = defaultdict(int)
            for stack in group:
                lines[lines_of(stack)[-1].line] += weights[stack]
            in_order = sorted(lines.items(), key=lambda item: (-item[1], item[0]))
            low, high = interval(weight / total, count)
            row = SampledRow(
                function=function,
                file=file,
                ns=sum(parts[stack] for stack in group),
                share=weight / total,
                low=low,
                high=high,
                count=sum(self.stacks[stack].count for stack in group),
                lines=tuple(
                    LineShare(line, weight_of_line / (weight or 1)) for line, weight_of_line in in_order
                ),
                states=_shares_of_states(group, weights),
            )
            rows.append(row)
        return sorted(rows, key=lambda row: (-row.share, row.function, row.file))

    def states(self) -> dict[str, float]:
        """Return the share of the time in each state that occurs, in the order of `STATES`."""
        return _shares_of_states(self.stacks, self._weights())

    def tree(self) -> SampledCall:
        """Return the tree of calls from the function that entered the section; their self times sum to the time."""
        root = SampledCall()
        for stack, ns in self.parts().items():
            called = [root]
            for line in lines_of(stack):
                key = (line.function, line.file)
                called.append(called[-1].calls.setdefault(key, SampledCall(*key)))
                called[-1].lines[line.line] += ns
            for call in called:
                call.ns += ns
                call.count += self.stacks[stack].count
            called[-1].self_ns += ns
        return root

    def parts(self) -> dict[SampledStack, int]:
        """Return the nanoseconds of each stack, in the order of stacks: integers that sum to the time.

        The nanoseconds that rounding down loses go to the stacks with the largest remainders.
        """
        weights = self._weights()
        total = sum(weights.values())
        quotients = {stack: divmod(self.ns * weights[stack], total) for stack in sorted(weights)}
        remainder = self.ns - sum(ns for ns, _ in quotients.values())
        largest_remainders = sorted(quotients, key=lambda stack: (-quotients[stack][1], stack))[:remainder]
        ns_by_stack = {stack: ns for stack, (ns, _) in quotients.items()}
        for stack in largest_remainders:
            ns_by_stack[stack] += 1
        return ns_by_stack

    def _weights(self) -> dict[SampledStack, int]:
        """Return the weights by the samples' time, or by their number if no sample has a time."""
        by_time = {stack: weight.ns for stack, weight in self.stacks.items()}
        return (
            by_time
            if any(by_time.values())
            else {stack: weight.count for stack, weight in self.stacks.items()}
        )


def sampled_times(profile: Profile) -> dict[str, SampledTime]:
    """Return the sampled self time of each node that has samples, by path; empty without sampling."""
    if profile.samples is None:
        return {}
    times: dict[str, SampledTime] = {}
    for path, stacks in profile.samples.by_path().items():
        node = profile.root.find(path)
        if node is not None and node.self_ns > 0:
            times[path] = SampledTime(stacks, node.self_ns)
    return times


def sampled_threads(profile: Profile) -> dict[str, SampledTime]:
    """Return the sampled time of threads without nodes, by thread name; it is known from samples only."""
    if profile.samples is None:
        return {}
    return {name: _sampled_time(stacks) for name, stacks in sorted(profile.samples.apart().items())}


def _sampled_time(stacks: Mapping[SampledStack, Weight]) -> SampledTime:
    return SampledTime(stacks, sum(weight.ns for weight in stacks.values()))


def dominant_line(stacks: Mapping[SampledStack, Weight]) -> CodeLine | None:
    """Return the hottest line of the function with at least half of the samples' time; None if there is none."""
    row = next(iter(_sampled_time(stacks).rows()), None)
    if row is None or row.share < DOMINANT_SHARE or not row.file:
        return None
    return CodeLine(row.function, row.file, row.lines[0].line)


def dominant_line_elsewhere(samples: Samples, loop_paths: Collection[str]) -> CodeLine | None:
    """Return the hottest line of the function that threads other than a loop's run for most of their running time.

    `own` are the paths of the loop's sections.
    """
    stacks = {
        stack: weight
        for stack, weight in samples.stacks.items()
        if stack.state == "running" and (stack.thread or stack.path not in loop_paths)
    }
    return dominant_line(stacks)


def interval(share: float, count: int) -> tuple[float, float]:
    """Return the 95% interval of a share measured in `count` samples (Wilson, JASA 22, 1927)."""
    if not count:
        return 0.0, 1.0
    square = _Z * _Z / count
    middle = (share + square / 2) / (1 + square)
    half = _Z / (1 + square) * math.sqrt(share * (1 - share) / count + square / (4 * count))
    # The interval contains the share: the limits correct rounding errors.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def lines_of(stack: SampledStack) -> tuple[CodeLine, ...]:
    """Return the lines of a stack; for a stack without lines, its state as a line."""
    return stack.lines or (CodeLine(SUSPENDED if stack.state == "suspended" else NO_CODE, "", 0),)


def _shares_of_states(
    stacks: Iterable[SampledStack], weights: Mapping[SampledStack, int]
) -> dict[str, float]:
    weight_by_state: dict[str, int] = defaultdict(int)
    for stack in stacks:
        weight_by_state[stack.state] += weights[stack]
    total = sum(weight_by_state.values()) or 1
    return {state: weight_by_state[state] / total for state in STATES if weight_by_state.get(state)}


# A line with a smaller share of its kind's time is not counted. Our own choice.
MIN_KIND_SHARE = 0.1


class LineTime(NamedTuple):
    """The time of one section at lines of one kind.

    Attributes:
        section: the section of a main loop, or of the run if there is no loop.
        kind: one of `profile.noted_lines.KINDS`.
        line: the line with the largest share of it, as FILE:NUMBER.
        share: its share of the section's self time.
        ns: time per tick, or in the run.
        surely_ns: lower end of the 95% interval of `ns`.
        samples: number of samples of the section.
        lines: number of lines of this kind with at least a tenth of the time each.
    """

    section: SectionView
    kind: str
    line: str
    share: float
    ns: float
    surely_ns: float
    samples: int
    lines: int


def line_times(profile: Profile, views: Iterable[LoopView]) -> Iterator[LineTime]:
    """Yield the times of the loops' sections at noted lines, from the samples of their self time."""
    facts = profile.metadata.get(SAMPLED_LINES, ())
    noted = read_noted_lines("\n".join(map(str, facts)))
    times = sampled_times(profile) if noted else {}
    logged = _logged_lines(profile.samples, noted)
    for view in views:
        for section in view.sections:
            sampled = times.get(section.path)
            if sampled is None or sampled.count < MIN_SAMPLES or section.node.wait or section.is_parallel:
                continue
            ns_by_kind: dict[str, Counter[str]] = defaultdict(Counter)
            for stack, ns in sampled.parts().items():
                noted_line = kind_of(stack, noted)
                if noted_line is not None and noted_line not in logged:
                    kind, line = noted_line
                    ns_by_kind[kind][line.place] += ns
            for kind, lines in sorted(ns_by_kind.items()):
                yield _line_time(section, kind, lines, sampled)


def _logged_lines(samples: Samples | None, noted: NotedLines) -> frozenset[tuple[str, CodeLine]]:
    """Return the lines whose f-strings were logged: their formatting was not wasted."""
    return frozenset(
        (EAGER_LOG, line)
        for stack in (samples.stacks if samples is not None else ())
        for line in stack.lines
        if EAGER_LOG in noted.get((line.file, line.line), ()) and is_logged(stack, line)
    )


def _line_time(section: SectionView, kind: str, lines: Counter[str], sampled: SampledTime) -> LineTime:
    share, ns = lines.total() / sampled.ns, section.self_ns
    low_share = interval(share, sampled.count)[0]
    (line, _), *_ = lines.most_common(1)
    count = sum(line_ns >= MIN_KIND_SHARE * lines.total() for line_ns in lines.values())
    return LineTime(section, kind, line, share, share * ns, low_share * ns, sampled.count, count)
