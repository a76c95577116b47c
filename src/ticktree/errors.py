"""The errors of ticktree."""

from __future__ import annotations

import os
from collections.abc import Iterable


class TicktreeError(Exception):
    """A failure with one clear line for its user; the command line prints it and exits with status 2."""


def one_line(text: str) -> str:
    """Return `text` with everything that is not printable replaced, line ends included."""
    spaced = text.translate({ord(c): " " for c in "\n\r\t"})
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in spaced)


def reason(error: BaseException) -> str:
    """Return what went wrong, in one line: of an import that failed, what made it fail; never nothing."""
    while isinstance(error, ImportError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, MemoryError):
        return "out of memory"
    lines = str(error).strip().splitlines()
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
        return one_line(f"{error.strerror}{where}")
    return one_line(lines[-1]) if lines else type(error).__name__


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most like `word`, as the end of an error; "" where none is like it."""
    from difflib import get_close_matches  # here, because only a mistaken word needs it

    likely = get_close_matches(word, list(known), n=1)
    return f"; did you mean {likely[0]!r}?" if likely else ""
