"""What the commands print, and what the terminal they print on can show."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ticktree.outputs import ViewOptions


def complain(message: str) -> None:
    """Say on standard error, in one line, what went wrong."""
    note(f"ticktree: {message}")


def note(line: str) -> None:
    """Print one line on standard error; names in it cannot move the cursor or end it."""
    show((one_line(line) + "\n").encode(errors="backslashreplace"), sys.stderr)


def one_line(text: str) -> str:
    """`text` with everything that is not printable replaced, line ends included."""
    spaced = text.translate({ord(c): " " for c in "\n\r\t"})
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in spaced)


def show(document: bytes, stream: TextIO | None) -> None:
    """Print UTF-8 text on a standard stream, whatever the stream's own encoding can say of it.

    Raises:
        BrokenPipeError: Nobody reads standard output any more. Nobody reading standard error is no reason
        to stop.
    """
    if stream is None:  # We were started with it closed.
        return
    with suppress(*([OSError, ValueError] if stream is sys.stderr else [])):
        text = document.decode(errors="replace")
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()


def view_options(stream: TextIO | None) -> ViewOptions:
    """How to draw on a standard stream."""
    from ticktree.outputs import ViewOptions
    from ticktree.outputs.summary import options_for

    return ViewOptions() if stream is None or stream.closed else options_for(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody may be watching."""
    return stream is not None and not stream.closed and stream.isatty()
