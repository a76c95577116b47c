"""The rule about asyncio: calls that wait in the event loop so that no other task can run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import WARNING_SHARE, Finding, severity_of
from ticktree.analysis.rules import Facts, finding
from ticktree.analysis.sampled import interval, sampled_times
from ticktree.profile import CodeLine, SampledStack
from ticktree.profile.samples import MIN_SAMPLES

# A share of the run in which no task can run. Our own choice.
MIN_BLOCKED_SHARE = WARNING_SHARE
# The states of a thread that waits; the event loop itself waits in its selector, outside all handles.
_WAITS = frozenset({"lock", "sleep", "io", "blocked"})
# The function of asyncio that runs a task until it awaits.
_HANDLE = "Handle._run"


class BlockedEventLoopRule:
    """A coroutine waits without `await`, so that no other task runs.

    Finds the function in which samples show that the event loop waits for a tenth of the run or more; see
    docs/rules/blocked-event-loop.md.
    """

    name: ClassVar[str] = "blocked-event-loop"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield one finding, about the function that blocks the event loop the longest."""
        if context.profile.samples is None or context.profile.samples.is_late or not context.run_ns:
            return
        blocked_ns: Counter[tuple[str, CodeLine]] = Counter()
        count = 0
        for path, sampled in sampled_times(context.profile).items():
            count += sampled.count
            for stack, ns in sampled.parts().items():
                line = _blocking_line(stack)
                if line is not None:
                    blocked_ns[path, line] += ns
        functions: Counter[tuple[str, str, str]] = Counter()
        for (path, line), ns in blocked_ns.items():
            functions[path, line.function, line.file] += ns
        for (path, function, file), ns in functions.most_common(1):
            share = min(1.0, ns / context.run_ns)
            if count < MIN_SAMPLES or interval(share, count)[0] < MIN_BLOCKED_SHARE:
                return
            lines = {
                line: line_ns
                for (section, line), line_ns in blocked_ns.items()
                if (section, line.function, line.file) == (path, function, file)
            }
            hottest = max(lines, key=lambda line: (lines[line], line))
            facts: Facts = {
                "function": function,
                "line": hottest.place,
                "blocked_share": share,
                "blocked_ns": ns,
            }
            yield finding(self.name, path, facts, severity=severity_of(share))


def _blocking_line(stack: SampledStack) -> CodeLine | None:
    """Return the innermost line outside the standard library in which a task waits; None if none does."""
    if stack.state not in _WAITS or all(line.function != _HANDLE for line in stack.lines):
        return None
    return next((line for line in reversed(stack.lines) if not _is_standard(line.file)), None)


def _is_standard(file: str) -> bool:
    return "/lib/python3" in file and "/site-packages/" not in file
