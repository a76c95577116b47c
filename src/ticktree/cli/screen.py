"""What the commands print, and what the terminal they print on can show."""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ticktree.outputs import ViewOptions


_PATIENCE_S = 0.2


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


def show_bytes(document: bytes, stream: TextIO | None) -> None:
    """Write what is no text on a standard stream, byte for byte.

    Raises:
        BrokenPipeError: Nobody reads it any more.
    """
    if stream is None:  # We were started with it closed.
        return
    stream.flush()
    stream.buffer.write(document)
    stream.buffer.flush()


def show_at_once(document: bytes, stream: TextIO | None) -> None:
    """Print UTF-8 text between the lines of a program that shares the stream, and never wait for a reader.

    On a terminal all of it is written at once, so that nothing comes between; to a pipe, as much at a time as
    nobody else's words can get into. If nobody takes it, the rest of it is given up.
    """
    if stream is None or stream.closed:
        return
    encoding = stream.encoding or "utf-8"
    with suppress(OSError, ValueError):
        stream.flush()
        fd = stream.fileno()
        rest = document.decode(errors="replace").encode(encoding, "replace")
        at_once = len(rest) if os.isatty(fd) else select.PIPE_BUF
        # The program has the terminal. Some let no one else write to it, and stop who tries, but not who
        # does not hear it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
        try:
            while rest and select.select([], [fd], [], _PATIENCE_S)[1]:
                rest = rest[os.write(fd, rest[:at_once]) :]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def view_options(stream: TextIO | None) -> ViewOptions:
    """How to draw on a standard stream."""
    from ticktree.outputs import ViewOptions
    from ticktree.outputs.summary import options_for

    return ViewOptions() if stream is None or stream.closed else options_for(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody may be watching."""
    return stream is not None and not stream.closed and stream.isatty()
