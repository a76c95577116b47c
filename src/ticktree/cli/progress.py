"""A line that says what ticktree is at, while it takes long, for somebody who watches."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ticktree.cli.screen import is_terminal

_PATIENCE_S = 0.3


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show `doing` on standard error while the context lasts, once that is a moment; never when piped."""
    if not is_terminal(sys.stderr):
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    status = Console(stderr=True).status(escape(doing))
    waiting = threading.Timer(_PATIENCE_S, status.start)
    waiting.daemon = True
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()
        waiting.join()
        status.stop()
