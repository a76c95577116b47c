"""Libraries that other distributions teach ticktree, found by entry point.

    [project.entry-points."ticktree.instruments"]
    mylib = "mylib.profiling"

`mylib.profiling` has `install(recorder)` and `uninstall()`, as the modules beside this file do. In the second group it
is recorded only where it is asked for by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ticktree.instrument.registry import Library

GROUP = "ticktree.instruments"
ON_DEMAND_GROUP = "ticktree.instruments.on_demand"

# It stands in a list with commas, and in the environment of children with what it is kept in.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
# As children are told of it: name=module@distribution.
_WORD = re.compile(r"(?P<name>[^=]+)=(?P<module>[^@]+)@(?P<distribution>.+)")
_UNNAMED = "an unnamed package"


@cache
def found() -> tuple[Library, ...]:
    """Return what this environment brings, in an order that does not depend on how it was found; nothing is imported.

    Reading what is installed takes milliseconds: it is done where somebody asks what there is, not in each process.
    """
    return tuple(sorted(_entries(), key=lambda library: (library.distribution, library.name)))


def to_word(library: Library) -> str:
    """Return how children are told of a library: without looking for it again, they know where it is."""
    return f"{library.name}={library.module}@{library.distribution}"


def from_word(word: str) -> Library | None:
    """Return the library that `to_word` wrote; None where it is no such word."""
    found = _WORD.fullmatch(word)
    return Library(found["name"], found["module"], "", distribution=found["distribution"]) if found else None


def _entries() -> Iterator[Library]:
    from importlib.metadata import (
        entry_points,
    )  # here, because it takes longer to import than all of this room

    for group in (GROUP, ON_DEMAND_GROUP):
        for entry in entry_points(group=group):
            distribution = (
                str(entry.dist.metadata["Name"] or _UNNAMED) if entry.dist is not None else _UNNAMED
            )
            if _NAME.fullmatch(entry.name):
                yield Library(
                    entry.name,
                    entry.value.partition("[")[0].replace(" ", ""),
                    f"As {distribution} has it.",
                    on_demand=group == ON_DEMAND_GROUP,
                    distribution=distribution,
                )
