"""The errors of ticktree."""

from __future__ import annotations

import os
from collections.abc import Iterable


class TicktreeError(Exception):
    """A failure with one clear line for its user; the command line prints it and exits with status 2."""


def one_line(text: str) -> str:
    """Return `text` with all unprintable characters replaced, line ends included."""
    spaced = text.translate({ord(c): " " for c in "\n\r\t"})
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in spaced)


def reason(error: BaseException) -> str:
    """Return the cause of an error in one line, which is never empty; of a failed import, its root cause."""
    while isinstance(error, ImportError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, MemoryError):
        return "out of memory"
    lines = str(error).strip().splitlines()
    if isinstance(error, OSError) and error.strerror:
        filename = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
        return one_line(f"{error.strerror}{filename}")
    return one_line(lines[-1]) if lines else type(error).__name__


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return a suggestion of the known word closest to `word`, to end an error with; "" if none is close."""
    from difflib import get_close_matches  # here, because only errors need it

    matches = get_close_matches(word, list(words), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""
