"""The main loop of a program: the loop statement in its source that most of its samples pass through."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ticktree.profile import CodeLine, SampledStack, Weight

# A loop with a smaller share of the samples is not the program's main loop.
MIN_SHARE = 0.5
# With fewer samples, the result would change from run to run.
MIN_SAMPLES = 50
# A body with fewer than two lines of this share each has no phases: marking the loop would show nothing.
_MIN_PHASE_SHARE = 0.05
_Statement = ast.For | ast.AsyncFor | ast.While
# Returns a file's source; None if it does not belong to the program, or is not available.
SourceOf = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class MainLoop:
    """A loop statement.

    Attributes:
        file: its file.
        line: the line of its head.
        mark: the head rewritten with ticktree's loop.
        share: the share of the samples that pass through it.
    """

    file: str
    line: int
    mark: str
    share: float


def main_loop(stacks: Iterable[tuple[SampledStack, Weight]], source_of: SourceOf) -> MainLoop | None:
    """Return the innermost loop with most of the samples of a program's main thread, and with phases."""
    loops: dict[tuple[str, int], _Loop] = {}
    sources: dict[str, list[_Statement]] = {}
    total = count = 0
    for stack, weight in stacks:
        total += weight.ns
        count += weight.count
        for stack_depth, line in enumerate(stack.lines):
            if line.file not in sources:
                nodes = syntax_nodes(source_of(line.file))
                sources[line.file] = [node for node in nodes if isinstance(node, _Statement)]
            for nesting, statement in enumerate(_enclosing_loops(line, sources[line.file])):
                loop = _Loop(line, statement, (stack_depth, nesting))
                loops.setdefault((line.file, statement.lineno), loop).add(stack, line, weight)
    if count < MIN_SAMPLES:
        return None
    candidates = (loop for loop in loops.values() if loop.ns >= MIN_SHARE * total and loop.phases(total) > 1)
    best = max(candidates, key=lambda loop: loop.depth, default=None)
    if best is None:
        return None
    return MainLoop(best.line.file, best.loop.lineno, best.mark(), best.ns / total)


class _Loop:
    def __init__(self, line: CodeLine, loop: _Statement, depth: tuple[int, int]) -> None:
        self.line = line
        self.loop = loop
        self.depth = depth
        self.ns = 0
        self._lines: dict[int, int] = defaultdict(int)
        self._last: SampledStack | None = None

    def add(self, stack: SampledStack, line: CodeLine, weight: Weight) -> None:
        if stack is self._last:
            return  # the stack of a recursion contains it more than once
        self._last = stack
        self.ns += weight.ns
        self._lines[line.line] += weight.ns

    def phases(self, total_ns: int) -> int:
        """Return the number of its lines that take a considerable share of the run each."""
        return sum(
            ns >= _MIN_PHASE_SHARE * total_ns for line, ns in self._lines.items() if line != self.loop.lineno
        )

    def mark(self) -> str:
        loop = self.loop
        if isinstance(loop, ast.While):
            return f'ticktree.tick("{self._name()}") as the first line of its body'
        keyword = "async for" if isinstance(loop, ast.AsyncFor) else "for"
        iterable = f'ticktree.loop("{self._name()}", {ast.unparse(loop.iter)})'
        return f"{keyword} {ast.unparse(loop.target)} in {iterable}:"

    def _name(self) -> str:
        function = self.line.function.rpartition(".")[2]
        return "main" if function in ("<module>", "") else function


def syntax_nodes(source: str | None) -> list[ast.AST]:
    """Return the nodes of a file's syntax tree; none if the file is not Python code."""
    if source is None:
        return []
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _enclosing_loops(line: CodeLine, loops: list[_Statement]) -> list[_Statement]:
    """Return the loops that a line is in, the outermost first."""
    enclosing = [loop for loop in loops if loop.lineno <= line.line <= (loop.end_lineno or loop.lineno)]
    return sorted(enclosing, key=lambda loop: (loop.lineno, -(loop.end_lineno or 0)))
