"""Names of calls: `expression | Qualname : file @ Lnnn`, with the file and line of the callee's definition.

The expression is the source text of the call. If a function contains several calls of the same text, the line is added
to each, `expression @ Lnnn`, and if they are on one line, the column too: so that each call site has its own name, and
the same name in every process and every run of the same source.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

# In bytes of UTF-8; together with the separators less than the 255 that a name may have.
_MAX_EXPRESSION = 96
_MAX_QUALIFIED = 72
_MAX_FILE = 60


class FunctionSource:
    """The source of a function, its comprehensions and generator expressions, with the positions of each text.

    Attributes:
        code: the function's code.
        lines: the lines of its file.
    """

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.lines = _source_lines(code.co_filename)
        self._sites: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for inner in (code, *comprehensions_in(code)):
            for source in {*source_ranges(inner, self.lines)}:
                if source is not None:
                    self._sites[self.text(source)].add((source.line, source.column))

    def text(self, source: SourceRange) -> str:
        """Return the text of a range; "" if it is unknown."""
        if source.end_column < 0 or not (raw := _raw_lines(source, self.lines)):
            return ""
        raw[-1] = raw[-1][: source.end_column]
        raw[0] = raw[0][source.column :]
        return truncate(" ".join(b" ".join(raw).decode(errors="replace").split()), _MAX_EXPRESSION)

    def suffix(self, source: SourceRange) -> str:
        """Return the suffix that distinguishes ranges of the same text: none, the line, or the line and column."""
        lines = [line for line, _ in self._sites[self.text(source)]]
        if len(lines) < 2:
            return ""
        return f" @ L{source.line}:{source.column}" if lines.count(source.line) > 1 else f" @ L{source.line}"


class CallExpressions:
    """The source text of the expression that each instruction of a code object computes.

    Args:
        code: The code object.
        function: The function that it belongs to.
    """

    def __init__(self, code: CodeType, function: FunctionSource) -> None:
        self.function = function
        self._first_line = code.co_firstlineno
        self._ranges = source_ranges(code, function.lines)

    def at(self, offset: int, callee: Any) -> tuple[str, int]:
        """Return the text of the call at a byte offset, unique within this function, and its line."""
        index = offset // 2
        source = self._ranges[index] if 0 <= index < len(self._ranges) else None
        if source is None:
            return "", self._first_line
        text = self.function.text(source) or f"{_simple_name(callee)}()"
        return text + self.function.suffix(source), source.line


def root_name(label: str, code: CodeType) -> str:
    """Return the name of a root when it is not called under focus."""
    file = display_path(code.co_filename)
    return f"{truncate(label, _MAX_QUALIFIED, keep_end=True)} : {file} @ L{code.co_firstlineno}"


def call_name(expression: str, code: CodeType) -> str:
    """Return the name of a call of a function written in Python."""
    return f"{expression or f'{_simple_name(code)}()'} | {root_name(code.co_qualname, code)}"


def c_call_name(expression: str, callee: Any, line: int) -> str:
    """Return the name of a call of a function without source: the line is that of the call."""
    qualified = getattr(callee, "__qualname__", None) if _has_safe_name(callee) else None
    name = qualified if isinstance(qualified, str) else type(callee).__qualname__
    return f"{expression or f'{name}()'} | {truncate(name, _MAX_QUALIFIED, keep_end=True)} @ L{line}"


@functools.lru_cache(maxsize=4096)
def display_path(filename: str) -> str:
    """Return a file's path relative to the longest entry of `sys.path` that contains it, like a module's.

    So it stays the same if the program is installed in another directory.
    """
    absolute = os.path.abspath(filename) if not filename.startswith("<") else filename  # noqa: PTH100
    path = absolute
    for entry in sys.path:
        folder = os.path.join(os.path.abspath(entry or os.curdir), "")  # noqa: PTH100, PTH118
        if absolute.startswith(folder) and len(absolute) - len(folder) < len(path):
            path = absolute[len(folder) :]
    return truncate(path.replace(os.sep, "/"), _MAX_FILE, keep_end=True)


def truncate(text: str, limit: int, *, keep_end: bool = False) -> str:
    """Cut a text to at most `limit` bytes of UTF-8, at its end or at its beginning."""
    encoded = text.encode("utf-8", "backslashreplace")
    if len(encoded) <= limit:
        return text
    size = limit - len("…".encode())
    if keep_end:
        return "…" + encoded[-size:].decode("utf-8", "ignore")
    return encoded[:size].decode("utf-8", "ignore") + "…"


def _source_lines(filename: str) -> list[str]:
    try:
        return linecache.getlines(filename)
    except Exception:  # an unreadable source counts as empty
        return []


def _simple_name(callee: Any) -> str:
    name = callee.co_name if isinstance(callee, CodeType) else getattr(callee, "__name__", None)
    return name if isinstance(name, str) else type(callee).__name__


def _has_safe_name(callee: Any) -> bool:
    """Return whether a callee's name can be read without running any of the program's code."""
    return type(callee) is type or type(callee).__module__ == "builtins"


_COMPREHENSION_NODES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class SourceRange(NamedTuple):
    """A range of source. Columns are bytes of UTF-8, -1 if unknown."""

    line: int
    end_line: int
    column: int
    end_column: int


def source_ranges(code: CodeType, lines: Sequence[str]) -> list[SourceRange | None]:
    """Return the source range of each instruction; an instruction has two bytes."""
    ranges = [_source_range(*position) for position in code.co_positions()]
    heads_by_range = {source: _narrow_to_head(source, lines) for source in {*ranges} if source is not None}
    heads = [source and heads_by_range[source] for source in ranges]
    return _narrow_to_iterables(heads, ranges, code, lines) if sys.version_info < (3, 13) else heads


def _source_range(
    line: int | None, end_line: int | None, column: int | None, end_column: int | None
) -> SourceRange | None:
    if line is None:
        return None
    if column is None or end_column is None:
        return SourceRange(line, line, 0, -1)
    return SourceRange(line, end_line or line, column, end_column)


def _raw_lines(source: SourceRange, lines: Sequence[str]) -> list[bytes]:
    return [line.encode() for line in lines[source.line - 1 : source.end_line]]


def _parse(text: bytes) -> ast.stmt | None:
    try:
        return ast.parse(text).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _narrow_to_head(source: SourceRange, lines: Sequence[str]) -> SourceRange:
    """Narrow a `for` or `with` statement to the expression iterated over, or the text before the colon."""
    raw = _raw_lines(source, lines)
    if not raw or not raw[0][source.column :].startswith((b"for ", b"with ", b"async for ", b"async with ")):
        return source
    column = source.column + (6 if raw[0][source.column :].startswith(b"async ") else 0)
    statement = _parse(b"".join([raw[0][column:], *raw[1:]]))
    if statement is None:
        return SourceRange(source.line, source.line, source.column, len(raw[0].rstrip().rstrip(b":")))
    if isinstance(statement, ast.For):
        return _span(statement.iter, statement.iter, source.line, column)
    if isinstance(statement, ast.With):
        last = statement.items[-1]
        head = _span(statement, last.optional_vars or last.context_expr, source.line, column)
        return head._replace(column=source.column)
    return source


_LOOP_OPCODES = ("FOR_ITER", "GET_ANEXT")


def _narrow_to_iterables(
    heads: list[SourceRange | None], ranges: list[SourceRange | None], code: CodeType, lines: Sequence[str]
) -> list[SourceRange | None]:
    """Narrow the instructions that iterate in a comprehension to their iterables, as Python 3.13 has them.

    Before, they have the range of the whole comprehension, one loop after the other.
    """
    loops: defaultdict[SourceRange, int] = defaultdict(int)
    iterables: dict[SourceRange, list[SourceRange]] = {}
    for instruction in dis.get_instructions(code, show_caches=True):
        index = instruction.offset // 2
        source = ranges[index]
        if source is None or source.end_column < 0:
            continue
        if instruction.opname in (*_LOOP_OPCODES, "GET_ITER", "GET_AITER"):
            if source not in iterables:
                iterables[source] = _find_iterables(source, lines)
            loop = loops[source]
            loops[source] += instruction.opname in _LOOP_OPCODES
        else:  # also the caches after an instruction, where calls may seem to be made
            loop = loops[source] - 1
        if 0 <= loop < len(iterables.get(source, ())):
            heads[index] = iterables[source][loop]
    return heads


def _find_iterables(source: SourceRange, lines: Sequence[str]) -> list[SourceRange]:
    """Return the iterables of a comprehension or generator expression; none for any other expression."""
    raw = _raw_lines(source, lines)
    if not raw or raw[0][source.column : source.column + 1] not in (b"[", b"{", b"("):
        return []
    raw[-1] = raw[-1][: source.end_column]
    raw[0] = raw[0][source.column :]
    statement = _parse(b"".join(raw))
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, _COMPREHENSION_NODES):
        return []
    return [_span(loop.iter, loop.iter, source.line, source.column) for loop in statement.value.generators]


def _span(first: ast.expr | ast.stmt, last: ast.expr, line: int, column: int) -> SourceRange:
    """Return the range from one node to another, if their source begins at a line and column of the file."""
    end, end_column = last.end_lineno or last.lineno, last.end_col_offset or 0
    return SourceRange(
        line + first.lineno - 1,
        line + end - 1,
        first.col_offset + (column if first.lineno == 1 else 0),
        end_column + (column if end == 1 else 0),
    )


# Comprehensions and generator expressions have their own code objects; their author sees them as part of a function.
#
# Python 3.12 and later have no code object for most comprehensions, and still have it for generator expressions. So
# none of them is a call: their calls count as their caller's. That is the function that contains them or, for a
# generator expression that was passed on, the function that takes its values.

_COMPREHENSION_NAMES = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def is_comprehension(code: CodeType) -> bool:
    """Return whether a code object is a comprehension's or generator expression's."""
    return code.co_name in _COMPREHENSION_NAMES


def comprehensions_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the comprehensions and generator expressions in a function, also those inside others."""
    for value in code.co_consts:
        if isinstance(value, CodeType) and is_comprehension(value):
            yield value
            yield from comprehensions_in(value)


def enclosing_code(comprehension: CodeType, frame: FrameType | None) -> CodeType:
    """Return the code of the function that contains a comprehension; the comprehension itself if it is not found.

    That function is nearly always running. If a generator expression was passed out of it, its file is compiled to
    find it, once per file.
    """
    while frame is not None:
        code = frame.f_code
        if not is_comprehension(code) and any(inner is comprehension for inner in comprehensions_in(code)):
            return code
        frame = frame.f_back
    queue = [_compile_file(comprehension.co_filename)]
    while queue:
        candidate = queue.pop()
        if candidate is not None and any(inner == comprehension for inner in comprehensions_in(candidate)):
            return candidate
        queue += [
            value for value in (candidate.co_consts if candidate else ()) if isinstance(value, CodeType)
        ]
    return comprehension


@functools.lru_cache(maxsize=16)
def _compile_file(filename: str) -> CodeType | None:
    try:
        return compile("".join(linecache.getlines(filename)), filename, "exec", dont_inherit=True)
    except Exception:  # whatever is wrong with the source, the program does not need it
        return None
