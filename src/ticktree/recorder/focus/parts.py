"""Comprehensions and generator expressions: code of their own, which their author sees as part of a function.

Python 3.12 and later have no code for most comprehensions, and still have it for generator expressions. So none of
them is a call: what they call is called by whoever runs them, which is the function that holds them or, of a generator
expression that was handed on, the function that takes its values.
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Iterator
from types import CodeType, FrameType

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
    takes as long as compiling that does: once a file.
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
