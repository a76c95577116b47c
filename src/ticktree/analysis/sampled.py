"""What self time consists of: the functions and lines in its stack samples, and how much of it is at lines of note.

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
from ticktree.profile.samples import LEAST_SAMPLES, STATES

# With less of the time, a function is one among others.
MOST_SHARE = 0.5
_Z = 1.96  # of an interval of 95%
# States without running code: a task between its turns, and a thread outside Python code.
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
        """The line with most of its time; 0 if unknown."""
        return min(self.lines, key=lambda line: (-self.lines[line], line), default=0)

    def in_order(self) -> list[SampledCall]:
        """What it called, the longest first."""
        return sorted(self.calls.values(), key=lambda call: (-call.ns, call.function, call.file))


@dataclass(frozen=True, slots=True)
class SampledTime:
    """The samples of a time, and the nanoseconds that they divide.

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
        """By innermost function, the largest first; together they are all of the time, to the nanosecond."""
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
                lines=tuple(LineShare(line, of / (weight or 1)) for line, of in in_order),
                states=_shares_of_states(group, weights),
            )
            rows.append(row)
        return sorted(rows, key=lambda row: (-row.share, row.function, row.file))

    def states(self) -> dict[str, float]:
        """The share of the time in each state that occurs, in the order of `STATES`."""
        return _shares_of_states(self.stacks, self._weights())

    def tree(self) -> SampledCall:
        """The calls, from the one that has the section open; their self times are all of the time."""
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
        """The nanoseconds that each stack is given, in their order: whole ones, and together all of the time.

        What is lost by rounding down goes to those that lost most of it (the method of the largest remainder).
        """
        weights = self._weights()
        total = sum(weights.values())
        shared = {stack: divmod(self.ns * weights[stack], total) for stack in sorted(weights)}
        left = self.ns - sum(ns for ns, _ in shared.values())
        lost_most = sorted(shared, key=lambda stack: (-shared[stack][1], stack))[:left]
        found = {stack: ns for stack, (ns, _) in shared.items()}
        for stack in lost_most:
            found[stack] += 1
        return found

    def _weights(self) -> dict[SampledStack, int]:
        """Return the weights by the samples' time, or by their number if no sample has a time."""
        by_time = {stack: weight.ns for stack, weight in self.stacks.items()}
        return by_time if any(by_time.values()) else {stack: w.count for stack, w in self.stacks.items()}


def sampled_times(profile: Profile) -> dict[str, SampledTime]:
    """Return the sampled self time of each node that has samples, by path; empty without sampling."""
    if profile.samples is None:
        return {}
    found: dict[str, SampledTime] = {}
    for path, stacks in profile.samples.by_path().items():
        node = profile.root.find(path)
        if node is not None and node.self_ns > 0:
            found[path] = SampledTime(stacks, node.self_ns)
    return found


def sampled_apart(profile: Profile) -> dict[str, SampledTime]:
    """Return the sampled time of threads without nodes, by thread name; only the samples have it."""
    if profile.samples is None:
        return {}
    return {name: _whole(stacks) for name, stacks in sorted(profile.samples.apart().items())}


def _whole(stacks: Mapping[SampledStack, Weight]) -> SampledTime:
    return SampledTime(stacks, sum(weight.ns for weight in stacks.values()))


def most_of(stacks: Mapping[SampledStack, Weight]) -> CodeLine | None:
    """Return the hottest line of the function that has half of the samples' time or more; None if none has."""
    row = next(iter(_whole(stacks).rows()), None)
    if row is None or row.share < MOST_SHARE or not row.file:
        return None
    return CodeLine(row.function, row.file, row.lines[0].line)


def running_elsewhere(samples: Samples, own: Collection[str]) -> CodeLine | None:
    """Return the hottest line of the function that threads other than a loop's run for most of their running time.

    `own` are the paths of the loop's sections.
    """
    others = {
        stack: weight
        for stack, weight in samples.stacks.items()
        if stack.state == "running" and (stack.thread or stack.path not in own)
    }
    return most_of(others)


def interval(share: float, count: int) -> tuple[float, float]:
    """Return the 95% interval of a share measured in `count` samples (Wilson, JASA 22, 1927)."""
    if not count:
        return 0.0, 1.0
    square = _Z * _Z / count
    middle = (share + square / 2) / (1 + square)
    half = _Z / (1 + square) * math.sqrt(share * (1 - share) / count + square / (4 * count))
    # At its ends the interval reaches the share itself, but for rounding.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def lines_of(stack: SampledStack) -> tuple[CodeLine, ...]:
    """The lines of a stack; of one without, what it does in place of code."""
    return stack.lines or (CodeLine(SUSPENDED if stack.state == "suspended" else NO_CODE, "", 0),)


def _shares_of_states(
    stacks: Iterable[SampledStack], weights: Mapping[SampledStack, int]
) -> dict[str, float]:
    found: dict[str, int] = defaultdict(int)
    for stack in stacks:
        found[stack.state] += weights[stack]
    total = sum(found.values()) or 1
    return {state: found[state] / total for state in STATES if found.get(state)}


# A line with less of the time of its kind is not one of several that share it. Our own choice.
LEAST_OF_KIND = 0.1


class LineTime(NamedTuple):
    """The time of one section at lines of one kind.

    Attributes:
        section: the section of a main loop, or of the run if there is no loop.
        kind: one of `profile.noted_lines.KINDS`.
        line: the line with most of it, as FILE:NUMBER.
        share: its part of the section's self time.
        ns: per tick, or of the run.
        surely_ns: the lower end of its 95% interval.
        samples: of the section.
        lines: how many lines of this kind have a tenth of it each, or more.
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
    """Yield the times of the sections of loops at lines of note, from the samples of their self time."""
    facts = profile.metadata.get(SAMPLED_LINES, ())
    noted = read_noted_lines("\n".join(map(str, facts)))
    times = sampled_times(profile) if noted else {}
    logged = _logged(profile.samples, noted)
    for view in views:
        for section in view.sections:
            sampled = times.get(section.path)
            if sampled is None or sampled.count < LEAST_SAMPLES or section.node.wait or section.is_parallel:
                continue
            spent: dict[str, Counter[str]] = defaultdict(Counter)
            for stack, ns in sampled.parts().items():
                found = kind_of(stack, noted)
                if found is not None and found not in logged:
                    kind, line = found
                    spent[kind][line.place] += ns
            for kind, lines in sorted(spent.items()):
                yield _line_time(section, kind, lines, sampled)


def _logged(samples: Samples | None, noted: NotedLines) -> frozenset[tuple[str, CodeLine]]:
    """Return the lines whose f-strings were logged: to make these was no waste."""
    return frozenset(
        (EAGER_LOG, line)
        for stack in (samples.stacks if samples is not None else ())
        for line in stack.lines
        if EAGER_LOG in noted.get((line.file, line.line), ()) and is_logged(stack, line)
    )


def _line_time(section: SectionView, kind: str, lines: Counter[str], sampled: SampledTime) -> LineTime:
    share, ns = lines.total() / sampled.ns, section.self_ns
    surely = interval(share, sampled.count)[0]
    (line, _), *_ = lines.most_common(1)
    count = sum(each >= LEAST_OF_KIND * lines.total() for each in lines.values())
    return LineTime(section, kind, line, share, share * ns, surely * ns, sampled.count, count)
