"""What a program's source says of its samples: the loop statement that most of them pass through."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ticktree.profile import CodeLine, SampledStack, Weight

# A loop with less of the samples is not the program's main one.
LEAST_SHARE = 0.5
# Below this the answer would change from run to run.
LEAST_SAMPLES = 50
# A body with less than two lines of this share each has no phases: the loop computes, and is nothing to mark.
_LEAST_PHASE = 0.05
_Statement = ast.For | ast.AsyncFor | ast.While
# Returns a file's source; None if it does not belong to the program, or is not available.
SourceOf = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class MainLoop:
    """A loop statement.

    Attributes:
        file: where it is.
        line: of its head.
        mark: the head with ticktree's loop.
        share: of the samples that pass through it.
    """

    file: str
    line: int
    mark: str
    share: float


def main_loop(stacks: Iterable[tuple[SampledStack, Weight]], source_of: SourceOf) -> MainLoop | None:
    """Return the loop in which a program's main thread spends its time: the innermost with most samples and phases."""
    found: dict[tuple[str, int], _Loop] = {}
    sources: dict[str, list[_Statement]] = {}
    total = count = 0
    for stack, weight in stacks:
        total += weight.ns
        count += weight.count
        for at, line in enumerate(stack.lines):
            if line.file not in sources:
                nodes = nodes_of(source_of(line.file))
                sources[line.file] = [node for node in nodes if isinstance(node, _Statement)]
            for nesting, loop in enumerate(_around(line, sources[line.file])):
                one = found.setdefault((line.file, loop.lineno), _Loop(line, loop, (at, nesting)))
                one.add(stack, line, weight)
    if count < LEAST_SAMPLES:
        return None
    phased = (each for each in found.values() if each.ns >= LEAST_SHARE * total and each.phases(total) > 1)
    chosen = max(phased, key=lambda each: each.depth, default=None)
    if chosen is None:
        return None
    return MainLoop(chosen.line.file, chosen.loop.lineno, chosen.mark(), chosen.ns / total)


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
            return  # a recursion passes through it more than once
        self._last = stack
        self.ns += weight.ns
        self._lines[line.line] += weight.ns

    def phases(self, total_ns: int) -> int:
        """How many of its lines take a share of the run each."""
        return sum(
            ns >= _LEAST_PHASE * total_ns for line, ns in self._lines.items() if line != self.loop.lineno
        )

    def mark(self) -> str:
        loop = self.loop
        if isinstance(loop, ast.While):
            return f'ticktree.tick("{self._name()}") as the first line of its body'
        word = "async for" if isinstance(loop, ast.AsyncFor) else "for"
        iterable = f'ticktree.loop("{self._name()}", {ast.unparse(loop.iter)})'
        return f"{word} {ast.unparse(loop.target)} in {iterable}:"

    def _name(self) -> str:
        function = self.line.function.rpartition(".")[2]
        return "main" if function in ("<module>", "") else function


def nodes_of(source: str | None) -> list[ast.AST]:
    """Return the nodes of a file's syntax tree; none of a file that is not Python's."""
    if source is None:
        return []
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _around(line: CodeLine, loops: list[_Statement]) -> list[_Statement]:
    """Return the loops that a line is in, the outermost first."""
    inside = [loop for loop in loops if loop.lineno <= line.line <= (loop.end_lineno or loop.lineno)]
    return sorted(inside, key=lambda loop: (loop.lineno, -(loop.end_lineno or 0)))
