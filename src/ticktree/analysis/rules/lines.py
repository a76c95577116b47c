"""The rule about hot lines: code that is known to be slow and in which, as samples show, a loop spends its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import WARNING_SHARE, Claim, Finding
from ticktree.analysis.rules import Facts, finding
from ticktree.analysis.sampled import LineTime
from ticktree.profile.noted_lines import ARRAY_OF_LIST, CONVERSION, LOCK, ONE_BY_ONE, POLL

# The share of a tick for which it pays to rewrite a line. Our own choice.
MIN_LINE_SHARE = WARNING_SHARE
# Where this many lines convert data, most of them are unnecessary: one line can do it all. Our own choice.
MIN_CONVERSIONS = 3
# The share of a line's time that the advice saves, if not all of it. One inference for all inputs still computes each
# of them: for 4 to 32 inputs, it saved 48% to 95% of the time (docs/rules/hot-line.md).
SAVED_SHARES = {ONE_BY_ONE: 0.5}
# Other rules report these.
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
            # One conversion may be necessary.
            if time.kind == CONVERSION and time.lines < MIN_CONVERSIONS:
                continue
            if time.kind == POLL:
                yield from _polling(self.name, time)
            elif time.kind not in _OF_OTHER_RULES and is_hot(time):
                yield line_finding(self.name, time, SAVED_SHARES.get(time.kind, 1.0) * time.ns)


def _polling(rule: str, time: LineTime) -> Iterator[Finding]:
    """Yield the finding that a section sleeps for longer than the work takes that it started and waits for.

    If that work was not recorded, the sleep may be no longer than necessary.
    """
    below = time.section.path + "/"
    sections = time.section.view.sections
    worked_ns = sum(section.concurrent_ns for section in sections if section.path.startswith(below))
    saved = time._replace(ns=max(0.0, time.ns - worked_ns), surely_ns=time.surely_ns - worked_ns)
    if worked_ns and is_hot(saved):
        yield line_finding(rule, time, saved.ns)


def is_hot(time: LineTime) -> bool:
    """Return whether these lines certainly take at least a tenth of the tick."""
    return time.section.view.share(time.surely_ns) >= MIN_LINE_SHARE


def line_finding(rule: str, time: LineTime, saved_ns: float) -> Finding:
    """Return the finding that a loop could save `saved_ns` of the time in these lines."""
    view = time.section.view
    facts: Facts = {
        "line": time.line,
        "line_kind": time.kind,
        "in_line_ns": round(time.ns),
        "tick_share": view.share(time.ns),
        "in_line_share": time.share,
        "samples": time.samples,
        "lines": time.lines,
    }
    return finding(rule, time.section.path, facts, Claim(view.share(saved_ns), view.path))
