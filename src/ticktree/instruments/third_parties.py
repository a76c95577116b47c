"""Libraries that other distributions add to ticktree by entry point.

    [project.entry-points."ticktree.instruments"]
    mylib = "mylib.profiling"

`mylib.profiling` has `install(recorder)` and `uninstall()`, as instruments have. A library in the second group is
recorded only when requested by name.
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

# Names stand in a list with commas, and in the environment of children with module and distribution.
_NAME = r"[A-Za-z0-9][\w.-]*"
# The text for children: name=module@distribution.
_TEXT = r"(?P<name>[^=]+)=(?P<module>[^@]+)@(?P<distribution>.+)"
_UNNAMED = "an unnamed package"


@cache
def find_libraries() -> tuple[Library, ...]:
    """Return the libraries that this environment adds, sorted by distribution and name; imports nothing.

    Reading what is installed takes milliseconds: only who needs the list does it, not every process.
    """
    return tuple(sorted(_entries(), key=lambda library: (library.distribution, library.name)))


def to_text(library: Library) -> str:
    """Return the text that names a library to children, so that they need not search for it again."""
    return f"{library.name}={library.module}@{library.distribution}"


def from_text(text: str) -> Library | None:
    """Return the library that `to_text` wrote; None for any other text."""
    match = re.fullmatch(_TEXT, text)
    return Library(match["name"], match["module"], "", distribution=match["distribution"]) if match else None


def _entries() -> Iterator[Library]:
    if not _may_have_entries():
        return
    for group in (GROUP, ON_DEMAND_GROUP):
        for entry in entry_points_of(group):
            name = entry.dist.metadata["Name"] if entry.dist is not None else ""
            distribution = str(name or _UNNAMED)
            if re.fullmatch(_NAME, entry.name):
                yield Library(
                    entry.name,
                    entry.value.partition("[")[0].replace(" ", ""),
                    f"As {distribution} has it.",
                    on_demand=group == ON_DEMAND_GROUP,
                    distribution=distribution,
                )


def _may_have_entries() -> bool:
    """Return whether a full search may find entries: with a hundred distributions it takes ten times as long.

    Where distributions may not be files in folders, only the full search can tell.
    """
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return True
    return any(_may_contain_entries(folder) for folder in dict.fromkeys(sys.path))


def _may_contain_entries(folder: str) -> bool:
    """Return whether an entry of `sys.path` has a distribution with entries for us, or is an archive, which may."""
    # An egg is a distribution, and a folder to import from.
    endings = (".dist-info", ".egg-info", *(("egg-info",) if folder.lower().endswith(".egg") else ()))
    try:
        with os.scandir(folder or ".") as entries:
            return any(_has_entries(Path(entry)) for entry in entries if entry.name.lower().endswith(endings))
    except NotADirectoryError:
        return True
    except OSError:
        return False


def _has_entries(metadata: Path) -> bool:
    try:
        return GROUP.encode() in (metadata / "entry_points.txt").read_bytes()
    except OSError:
        return False
