r"""Paths: the names from the root to a node, written as one string.

`/` stands between names. Inside a name it is written `\/`, a backslash is written `\\`, and a name of no
characters is written `\e`: every tuple of names has exactly one path, and the root alone has the path "".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

ROOT = ""
# Of one name, so many are counted where people read a path.
LEAST_IN_A_ROW = 3

_ELEMENT = re.compile(r"(?:[^/\\]|\\.)+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def element(name: str) -> str:
    """Return `name` as it stands in a path."""
    return name.replace("\\", "\\\\").replace("/", "\\/") or "\\e"


def join(names: Iterable[str]) -> str:
    """Return the path of the node reached from the root by `names`."""
    return "/".join(element(name) for name in names)


def plain(path: str) -> str:
    """Return `path` with its names as they were written, for people: several paths may read the same.

    A name that follows itself three times or more, as in a recursion, is there once: "98 × search/expand".
    """
    rows = ((name or '""', len([*same])) for name, same in groupby(split(path)))
    return "/".join(
        f"{count} × {name}" if count >= LEAST_IN_A_ROW else "/".join([name] * count) for name, count in rows
    )


def child(parent: str, name: str) -> str:
    """Return the path of the child called `name` of the node at `parent`."""
    return f"{parent}/{element(name)}" if parent else element(name)


def split(path: str) -> tuple[str, ...]:
    """Return the names `path` is made of; the inverse of `join`.

    Raises:
        ValueError: `path` is not one that `join` can return.
    """
    if path == ROOT:
        return ()
    names = tuple(_ESCAPE.sub(_unescape, found) for found in _ELEMENT.findall(path))
    if join(names) != path:
        raise ValueError(f"not a path: {path[:80]!r}")
    return names


def parent(path: str) -> str:
    """Return the path of the node around the one at `path`; of the root's path, ""."""
    return join(split(path)[:-1])


def is_below(path: str, above: str) -> bool:
    """Tell whether `path` is of a node below that at `above`; no node is below itself."""
    return path.startswith(f"{above}/") if above else path != ""


def name_of(path: str) -> str:
    """Return the last name of `path`; of the root's path, ""."""
    names = split(path)
    return names[-1] if names else ""


def _unescape(match: re.Match[str]) -> str:
    return "" if match[1] == "e" else match[1]
