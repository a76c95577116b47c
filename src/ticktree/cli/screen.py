"""How the commands print, and what their terminal can show."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from ticktree.errors import TicktreeError, one_line

if TYPE_CHECKING:
    from ticktree.outputs import ViewOptions

_PATIENCE_S = 0.2
# For streams without Unicode: each sign that ticktree prints, with a similar one of ASCII.
_SIGNS = {
    **dict.fromkeys("─━", "-"),
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("├┼┤", "+"),
    **dict.fromkeys("└╰", "`"),
    **dict.fromkeys("█▇▉▊▋▌", "#"),
    **dict.fromkeys("▍▎▏", ":"),
    **dict.fromkeys("▁▂", "_"),
    **dict.fromkeys("▃▄·", "-"),
    **dict.fromkeys("▅▆", "="),
    **dict.fromkeys("\N{NARROW NO-BREAK SPACE}\N{NO-BREAK SPACE}", " "),
    **dict(zip("…→←×µ≤≥≈", ".><xu<>~", strict=True)),
}
_PLAINER = str.maketrans(_SIGNS)


def complain(message: str) -> None:
    """Print an error or a warning as one line on standard error."""
    note(f"ticktree: {message}")


def note(line: str) -> None:
    """Print one line on standard error; names in it cannot move the cursor or end the line."""
    show((one_line(line) + "\n").encode(errors="backslashreplace"), sys.stderr)


def show(document: bytes, stream: TextIO | None) -> None:
    """Print UTF-8 text on a standard stream, as far as the stream's encoding can represent it.

    Errors of standard error are ignored; of standard output, a closed pipe is a BrokenPipeError.
    """
    if stream is None:  # ticktree was started with it closed
        return
    ignored = (OSError, ValueError, TicktreeError) if stream is sys.stderr else ()
    with suppress(*ignored), _clear_errors(stream):
        encoding = stream.encoding or "utf-8"
        stream.write(_encoded(document, encoding).decode(encoding))
        stream.flush()


def show_bytes(document: bytes, stream: TextIO | None) -> None:
    """Write bytes on standard output unchanged; a closed pipe is a BrokenPipeError."""
    if stream is None:  # ticktree was started with it closed
        return
    with _clear_errors(stream):
        stream.flush()
        stream.buffer.write(document)
        stream.buffer.flush()


def stop_printing(stream: TextIO | None) -> None:
    """Discard what could not be printed: otherwise Python would try again at exit, and print an error."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def _clear_errors(stream: TextIO) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        stop_printing(stream)
        raise TicktreeError(f"cannot write to standard output: {error.strerror}") from None


def _encoded(document: bytes, encoding: str) -> bytes:
    """Return UTF-8 text in another encoding, column for column; signs that it lacks become similar ones."""
    text = document.decode(errors="replace")
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAINER).encode(encoding, "replace")


def show_at_once(document: bytes, stream: TextIO | None) -> None:
    """Print UTF-8 text between the lines of a program that shares the stream, and never wait for a reader.

    On a terminal all of it is written at once, so that no other output gets between; to a pipe, in parts that the
    system writes atomically. If the reader does not take it in time, the rest is discarded.
    """
    if stream is None or stream.closed:
        return
    encoding = stream.encoding or "utf-8"
    with suppress(OSError, ValueError):
        stream.flush()
        fd = stream.fileno()
        rest = _encoded(document, encoding)
        at_once = len(rest) if os.isatty(fd) else select.PIPE_BUF
        # The program is in the terminal's foreground. Some terminals stop other processes that write, unless these
        # block the signal.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
        try:
            while rest and select.select([], [fd], [], _PATIENCE_S)[1]:
                rest = rest[os.write(fd, rest[:at_once]) :]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def view_options(stream: TextIO | None) -> ViewOptions:
    """Return how to draw on a standard stream."""
    from ticktree.outputs import ViewOptions
    from ticktree.outputs.registry import options_for

    return ViewOptions() if stream is None or stream.closed else options_for(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


_UNANNOUNCED_S = 0.3


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show `doing` on standard error while the context lasts, if it lasts a moment; never when piped."""
    if not is_terminal(sys.stderr):
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    status = Console(stderr=True).status(escape(doing))
    timer = threading.Timer(_UNANNOUNCED_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
