"""Entry points of other distributions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points_of(group: str) -> Iterator[EntryPoint]:
    """Yield a group's entry points, even if another distribution's metadata is invalid."""
    from importlib.metadata import distributions, entry_points  # here: it takes milliseconds to import

    try:
        yield from entry_points(group=group)
    except ValueError:  # from Python 3.15 on, if any entry point of any group is invalid
        for distribution in distributions():
            with suppress(ValueError):
                yield from distribution.entry_points.select(group=group)
