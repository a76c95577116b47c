"""What a call is called: `expression | Qualname : file @ Lnnn`, the file and line those of the function's definition.

The expression is the source text of the call. Where a function makes calls of the same text in several places, the
line of each is added to it, `expression @ Lnnn`, and where they are on one line the column too: so that each
place has its own name, and the same name in every process and every run of the same source.
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

from ticktree.recorder.site import Site

# Bytes of UTF-8; together with what stands between them less than the 255 that a name may have.
_EXPRESSION = 96
_QUALIFIED = 72
_FILE = 60


class Function:
    """A function's source: how often each text stands in it, with its comprehensions and generator expressions.

    Attributes:
        code: the function's own.
        lines: of the file that it is in.
    """

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.lines = _source_of(code.co_filename)
        self._sites: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for part in (code, *parts_of(code)):
            for place in {*places_of(part, self.lines)}:
                if place is not None:
                    self._sites[self.text(place)].add((place.line, place.column))

    def text(self, place: SourceRange) -> str:
        """The source text there; "" where it is not known."""
        lines = self.lines[place.line - 1 : place.end_line]
        if not lines or place.end_column < 0:
            return ""
        raw = [line.encode() for line in lines]
        raw[-1] = raw[-1][: place.end_column]
        raw[0] = raw[0][place.column :]
        return fitted(" ".join(b" ".join(raw).decode(errors="replace").split()), _EXPRESSION)

    def mark(self, place: SourceRange) -> str:
        """What tells a place from others of the same text: nothing, its line, or its line and column."""
        lines = [line for line, _ in self._sites[self.text(place)]]
        if len(lines) < 2:
            return ""
        return f" @ L{place.line}:{place.column}" if lines.count(place.line) > 1 else f" @ L{place.line}"


class Expressions:
    """The source text of what each instruction of a code object computes.

    Args:
        code: The code object.
        function: The function that it is of, or a part of.
    """

    def __init__(self, code: CodeType, function: Function) -> None:
        self.function = function
        self._first_line = code.co_firstlineno
        self._places = places_of(code, function.lines)

    def at(self, offset: int, callee: Any) -> tuple[str, int]:
        """The text of the call at a byte offset, unique within this function, and its line."""
        at = offset // 2
        place = self._places[at] if 0 <= at < len(self._places) else None
        if place is None:
            return "", self._first_line
        return (self.function.text(place) or f"{_last(callee)}()") + self.function.mark(place), place.line


def name_of_root(shown: str, code: CodeType) -> str:
    """The name of a function in focus that nothing in focus calls."""
    return f"{fitted(shown, _QUALIFIED, keep_end=True)} : {shown_file(code.co_filename)} @ L{code.co_firstlineno}"


def name_of_call(expression: str, code: CodeType) -> str:
    """The name of a call of a function written in Python."""
    callee = fitted(code.co_qualname, _QUALIFIED, keep_end=True)
    return f"{expression or f'{_last(code)}()'} | {callee} : {shown_file(code.co_filename)} @ L{code.co_firstlineno}"


def name_of_c_call(expression: str, callee: Any, line: int) -> str:
    """The name of a call of a function that has no source: the line is that of the call."""
    qualified = getattr(callee, "__qualname__", None) if _is_plain(callee) else None
    name = qualified if isinstance(qualified, str) else type(callee).__qualname__
    return f"{expression or f'{name}()'} | {fitted(name, _QUALIFIED, keep_end=True)} @ L{line}"


def definition(code: CodeType) -> Site:
    """Where a function is defined: file, line and qualified name."""
    return code.co_filename, code.co_firstlineno, code.co_qualname


@functools.lru_cache(maxsize=4096)
def shown_file(filename: str) -> str:
    """A file as modules are found: below the longest entry of `sys.path` it is in.

    So it is called the same where the program lies somewhere else.
    """
    absolute = os.path.abspath(filename) if not filename.startswith("<") else filename  # noqa: PTH100
    shown = absolute
    for entry in sys.path:
        folder = os.path.join(os.path.abspath(entry or os.curdir), "")  # noqa: PTH100, PTH118
        if absolute.startswith(folder) and len(absolute) - len(folder) < len(shown):
            shown = absolute[len(folder) :]
    return fitted(shown.replace(os.sep, "/"), _FILE, keep_end=True)


def fitted(text: str, limit: int, *, keep_end: bool = False) -> str:
    """A text that takes at most so many bytes of UTF-8, its end or its beginning given up."""
    encoded = text.encode("utf-8", "backslashreplace")
    if len(encoded) <= limit:
        return text
    left = limit - len("…".encode())
    if keep_end:
        return "…" + encoded[-left:].decode("utf-8", "ignore")
    return encoded[:left].decode("utf-8", "ignore") + "…"


def _source_of(filename: str) -> list[str]:
    try:
        return linecache.getlines(filename)
    except Exception:  # a source that cannot be read is empty
        return []


def _last(callee: Any) -> str:
    name = callee.co_name if isinstance(callee, CodeType) else getattr(callee, "__name__", None)
    return name if isinstance(name, str) else type(callee).__name__


def _is_plain(callee: Any) -> bool:
    """Whether its name can be read without running any of the program's code."""
    return type(callee) is type or type(callee).__module__ == "builtins"


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class SourceRange(NamedTuple):
    """A range of source. Columns are bytes of UTF-8, -1 where they are not known."""

    line: int
    end_line: int
    column: int
    end_column: int


def places_of(code: CodeType, lines: Sequence[str]) -> list[SourceRange | None]:
    """One for each instruction, two bytes each."""
    places = [_place(*position) for position in code.co_positions()]
    heads = {place: _head(place, lines) for place in {*places} if place is not None}
    if sys.version_info < (3, 13):
        return _with_iterables([place and heads[place] for place in places], places, code, lines)
    return [place and heads[place] for place in places]


def _place(
    line: int | None, end_line: int | None, column: int | None, end_column: int | None
) -> SourceRange | None:
    if line is None:
        return None
    if column is None or end_column is None:
        return SourceRange(line, line, 0, -1)
    return SourceRange(line, end_line or line, column, end_column)


def _head(place: SourceRange, lines: Sequence[str]) -> SourceRange:
    """Of a whole `for` or `with` statement, what its instructions are about.

    That is the expression that is iterated over, or all before the colon.
    """
    raw = [line.encode() for line in lines[place.line - 1 : place.end_line]]
    if not raw or not raw[0][place.column :].startswith((b"for ", b"with ", b"async for ", b"async with ")):
        return place
    skipped = place.column + (6 if raw[0][place.column :].startswith(b"async ") else 0)
    try:
        statement = ast.parse(b"".join([raw[0][skipped:], *raw[1:]])).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return SourceRange(place.line, place.line, place.column, len(raw[0].rstrip().rstrip(b":")))
    if isinstance(statement, ast.For):
        return _moved(statement.iter, statement.iter, place.line, skipped)
    if isinstance(statement, ast.With):
        last = statement.items[-1]
        whole = _moved(statement, last.optional_vars or last.context_expr, place.line, skipped)
        return whole._replace(column=place.column)
    return place


_LOOPS = ("FOR_ITER", "GET_ANEXT")


def _with_iterables(
    heads: list[SourceRange | None], places: list[SourceRange | None], code: CodeType, lines: Sequence[str]
) -> list[SourceRange | None]:
    """With the instructions that iterate in a comprehension at what they iterate over, as Python 3.13 has them.

    Before, they are at the whole comprehension, its loops one after the other.
    """
    begun: defaultdict[SourceRange, int] = defaultdict(int)
    iterables: dict[SourceRange, list[SourceRange]] = {}
    for instruction in dis.get_instructions(code, show_caches=True):
        at = instruction.offset // 2
        place = places[at]
        if place is None or place.end_column < 0:
            continue
        if instruction.opname in (*_LOOPS, "GET_ITER", "GET_AITER"):
            if place not in iterables:
                iterables[place] = _iterables(place, lines)
            begins = begun[place]
            begun[place] += instruction.opname in _LOOPS
        else:  # also the caches after an instruction, where calls may seem to be made
            begins = begun[place] - 1
        if 0 <= begins < len(iterables.get(place, ())):
            heads[at] = iterables[place][begins]
    return heads


def _iterables(place: SourceRange, lines: Sequence[str]) -> list[SourceRange]:
    """What a comprehension or generator expression iterates over; nothing for any other call."""
    raw = [line.encode() for line in lines[place.line - 1 : place.end_line]]
    if not raw or raw[0][place.column : place.column + 1] not in (b"[", b"{", b"("):
        return []
    raw[-1] = raw[-1][: place.end_column]
    raw[0] = raw[0][place.column :]
    try:
        whole = ast.parse(b"".join(raw)).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if not isinstance(whole, ast.Expr) or not isinstance(whole.value, _COMPREHENSIONS):
        return []
    return [_moved(loop.iter, loop.iter, place.line, place.column) for loop in whole.value.generators]


def _moved(first: ast.expr | ast.stmt, last: ast.expr, line: int, column: int) -> SourceRange:
    """From the beginning of one node to the end of another, in a file where their source begins at a place."""
    end, end_column = last.end_lineno or last.lineno, last.end_col_offset or 0
    return SourceRange(
        line + first.lineno - 1,
        line + end - 1,
        first.col_offset + (column if first.lineno == 1 else 0),
        end_column + (column if end == 1 else 0),
    )


# Comprehensions and generator expressions: own code objects, which their author sees as part of a function.
#
# Python 3.12 and later have no code for most comprehensions, and still have it for generator expressions. So none of
# them is a call: what they call counts as called by their caller, which is the function that holds them or,
# of a generator expression that was handed on, the function that takes its values.

_PARTS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def is_part(code: CodeType) -> bool:
    """Whether it is the code of a comprehension or generator expression."""
    return code.co_name in _PARTS


def parts_of(code: CodeType) -> Iterator[CodeType]:
    """The comprehensions and generator expressions in a function, those inside others too."""
    for value in code.co_consts:
        if isinstance(value, CodeType) and is_part(value):
            yield value
            yield from parts_of(value)


def holder_of(part: CodeType, frame: FrameType | None) -> CodeType:
    """The code of the function that a part is in; the part itself where that cannot be found.

    It is nearly always running. A generator expression that was handed out of it is looked up in its source, which
    takes as long as compiling that does: once per file.
    """
    while frame is not None:
        if not is_part(frame.f_code) and any(inner is part for inner in parts_of(frame.f_code)):
            return frame.f_code
        frame = frame.f_back
    waiting = [_compiled(part.co_filename)]
    while waiting:
        code = waiting.pop()
        if code is not None and any(inner == part for inner in parts_of(code)):
            return code
        waiting += [value for value in (code.co_consts if code else ()) if isinstance(value, CodeType)]
    return part


@functools.lru_cache(maxsize=16)
def _compiled(filename: str) -> CodeType | None:
    try:
        return compile("".join(linecache.getlines(filename)), filename, "exec", dont_inherit=True)
    except Exception:  # whatever is wrong with the source, the program runs without it
        return None
