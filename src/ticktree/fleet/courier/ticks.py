"""How many ticks a run has made, seen from outside."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ticktree.run.reading.image import DamagedError, Image

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory


def most_ticks(run: RunDirectory) -> int:
    """The ticks, those of warm-up among them, of the loop that has made the most in any process of a run."""
    most = 0
    for path in run.memory_files():
        with suppress(DamagedError):  # or gone, or not begun
            most = max(most, *(loop.ticks for _, loop in Image.of_file(path).loops()), 0)
    return most
