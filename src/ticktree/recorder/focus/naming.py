"""What a call is called: `expression | Qualname : file @ Lnnn`, the file and line those of the function's definition.

The expression is the source text of the call. Where a function makes calls of the same text in several places, the
line of each is said with it, `expression @ Lnnn`, and where they are on one line the column too: so that each place
has a name of its own, and the same name in every process and every run of the same source.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
from collections import defaultdict
from types import CodeType
from typing import Any

from ticktree.recorder.focus.lines import SourceRange, places_of
from ticktree.recorder.focus.parts import parts_of
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
        """What stands there; "" where nobody knows."""
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
        """The text of the call at a byte offset, as it is told from others in this function, and its line."""
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
    except Exception:  # a source that cannot be read is none
        return []


def _last(callee: Any) -> str:
    name = callee.co_name if isinstance(callee, CodeType) else getattr(callee, "__name__", None)
    return name if isinstance(name, str) else type(callee).__name__


def _is_plain(callee: Any) -> bool:
    """Whether its name can be asked for without running any of the program's code."""
    return type(callee) is type or type(callee).__module__ == "builtins"
