"""How much time of loops samples found at lines of note."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ticktree.analysis.loops import LoopView, SectionView
from ticktree.analysis.sampled import SampledTime, interval, sampled_times
from ticktree.profile import CodeLine, Profile, Samples
from ticktree.profile.noted_lines import (
    EAGER_LOG,
    SAMPLED_LINES,
    NotedLines,
    is_logged,
    kind_of,
    read_noted_lines,
)
from ticktree.profile.samples import LEAST_SAMPLES

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
    share = lines.total() / sampled.ns
    surely = interval(share, sampled.count)[0]
    line, _ = lines.most_common(1)[0]
    ns = section.self_ns
    count = sum(each >= LEAST_OF_KIND * lines.total() for each in lines.values())
    return LineTime(section, kind, line, share, share * ns, surely * ns, sampled.count, count)
