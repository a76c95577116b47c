"""The rule about hot lines: code that is known to be slow, where samples show that a loop spends its time there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import WARNING_SHARE, Claim, Finding
from ticktree.analysis.sampled import LineTime
from ticktree.profile.noted_lines import ARRAY_OF_LIST, CONVERSION, LOCK, ONE_BY_ONE, POLL

# A part of a tick that is worth the work of writing the line again. Our own choice.
LEAST_LINE_SHARE = WARNING_SHARE
# Where data is converted in so many lines, most of them are for nothing: one can do all of it. Our own choice.
LEAST_CONVERSIONS = 3
# The part of a line's time that the advice saves, where that is not all. One inference for all inputs still computes
# for each of them: for 4 to 32 inputs, it saved 48% to 95% of the time (docs/rules/hot-line.md).
SAVED_SHARES = {ONE_BY_ONE: 0.5}
# Other rules are about these.
_OF_OTHER_RULES = frozenset({ARRAY_OF_LIST, LOCK})


class HotLineRule:
    """Much of a tick is spent in a line that is known to be slow, and for which there is something faster.

    Finds deep copies, JSON, pickles, programs that are started, arrays that grow, and loops over the elements of
    arrays; see docs/rules/hot-line.md.
    """

    name: ClassVar[str] = "hot-line"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each section of a main loop, or of a run without loops, and each kind of line."""
        for time in context.line_times:
            # One conversion may be needed.
            if time.kind == CONVERSION and time.lines < LEAST_CONVERSIONS:
                continue
            if time.kind == POLL:
                yield from _polling(self.name, time)
            elif time.kind not in _OF_OTHER_RULES and is_hot(time):
                yield line_finding(self.name, time, SAVED_SHARES.get(time.kind, 1.0) * time.ns)


def _polling(rule: str, time: LineTime) -> Iterator[Finding]:
    """Yield the finding that a section sleeps for longer than what it waits for takes: work that it handed over.

    Where that work is not known, the sleep may be as long as it has to be.
    """
    below = time.section.path + "/"
    worked_ns = sum(each.concurrent_ns for each in time.section.view.sections if each.path.startswith(below))
    saved = time._replace(ns=max(0.0, time.ns - worked_ns), surely_ns=time.surely_ns - worked_ns)
    if worked_ns and is_hot(saved):
        yield line_finding(rule, time, saved.ns)


def is_hot(time: LineTime) -> bool:
    """Return whether at least a tenth of the tick is surely spent in these lines."""
    return time.section.view.share(time.surely_ns) >= LEAST_LINE_SHARE


def line_finding(rule: str, time: LineTime, saved_ns: float) -> Finding:
    """Return the finding that a loop could do without so much of the time in these lines."""
    view = time.section.view
    return Finding(
        rule=rule,
        claim=Claim(view.share(saved_ns), view.path),
        path=time.section.path,
        facts={
            "line": time.line,
            "line_kind": time.kind,
            "in_line_ns": round(time.ns),
            "tick_share": view.share(time.ns),
            "in_line_share": time.share,
            "samples": time.samples,
            "lines": time.lines,
        },
    )
