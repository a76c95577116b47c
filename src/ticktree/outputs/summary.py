"""The summary: the terminal's view, fitted to whatever it is printed on."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TextIO

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.registry import OUTPUTS
from ticktree.profile import Profile


def print_summary(profile: Profile, stream: TextIO) -> None:
    """Print `profile` on `stream`: as wide as its terminal, coloured only there, in its own encoding."""
    text = OUTPUTS["terminal"].render(profile, options_for(stream)).decode()
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()


def options_for(stream: TextIO) -> ViewOptions:
    """Return how to draw on `stream`; where it is no terminal, 100 columns without colours."""
    width = ViewOptions().width
    color = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    with suppress(OSError, ValueError):  # it is no terminal, or only like a file
        width = os.get_terminal_size(stream.fileno()).columns or width
    return ViewOptions(width=width, color=color)
