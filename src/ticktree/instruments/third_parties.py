"""Libraries that other distributions teach ticktree, found by entry point.

    [project.entry-points."ticktree.instruments"]
    mylib = "mylib.profiling"

`mylib.profiling` has `install(recorder)` and `uninstall()`, as the modules next to this file do. In the
second group it is recorded only when requested by name.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from ticktree.entry_points import entry_points_of
from ticktree.instruments.registry import Library

GROUP = "ticktree.instruments"
ON_DEMAND_GROUP = "ticktree.instruments.on_demand"

# It stands in a list with commas, and in the environment of children with what it is kept in.
_NAME = r"[A-Za-z0-9][\w.-]*"
# As it is passed to children: name=module@distribution.
_WORD = r"(?P<name>[^=]+)=(?P<module>[^@]+)@(?P<distribution>.+)"
_UNNAMED = "an unnamed package"


@cache
def found() -> tuple[Library, ...]:
    """Return what this environment brings, in an order that does not depend on how it was found; nothing is imported.

    Reading what is installed takes milliseconds: it is done where the list is requested, not in each process.
    """
    return tuple(sorted(_entries(), key=lambda library: (library.distribution, library.name)))


def to_word(library: Library) -> str:
    """Return the text that names a library to children, so that they need not look for it again."""
    return f"{library.name}={library.module}@{library.distribution}"


def from_word(word: str) -> Library | None:
    """Return the library that `to_word` wrote; None where it is no such word."""
    found = re.fullmatch(_WORD, word)
    return Library(found["name"], found["module"], "", distribution=found["distribution"]) if found else None


def _entries() -> Iterator[Library]:
    if not _may_be_any():
        return
    for group in (GROUP, ON_DEMAND_GROUP):
        for entry in entry_points_of(group):
            distribution = (
                str(entry.dist.metadata["Name"] or _UNNAMED) if entry.dist is not None else _UNNAMED
            )
            if re.fullmatch(_NAME, entry.name):
                yield Library(
                    entry.name,
                    entry.value.partition("[")[0].replace(" ", ""),
                    f"As {distribution} has it.",
                    on_demand=group == ON_DEMAND_GROUP,
                    distribution=distribution,
                )


def _may_be_any() -> bool:
    """Whether the full search may find one: with a hundred distributions it takes ten times as long as this look.

    Where distributions may be kept in another way than as files in folders, the full search is used.
    """
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return True
    return any(_may_be_one_in(place) for place in dict.fromkeys(sys.path))


def _may_be_one_in(place: str) -> bool:
    """Whether an entry of `sys.path` holds a distribution with an entry of ours, or is an archive, which may."""
    # An egg is a distribution, and a folder to import from.
    kept = (".dist-info", ".egg-info", *(("egg-info",) if place.lower().endswith(".egg") else ()))
    try:
        with os.scandir(place or ".") as there:
            return any(_has_entry(Path(each)) for each in there if each.name.lower().endswith(kept))
    except NotADirectoryError:
        return True
    except OSError:
        return False


def _has_entry(facts: Path) -> bool:
    try:
        return GROUP.encode() in (facts / "entry_points.txt").read_bytes()
    except OSError:
        return False
