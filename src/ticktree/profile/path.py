r"""Paths: the names from the root to a node, written as one string.

`/` separates names. Inside a name it is written `\/`, a backslash is written `\\`, and an empty name is written
`\e`: every tuple of names has exactly one path, and only the root has the path "".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

ROOT = ""
# Repetitions of a name in a row from which `plain` writes their number.
MIN_REPEATS = 3

_ELEMENT = re.compile(r"(?:[^/\\]|\\.)+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def element(name: str) -> str:
    """Return `name` escaped for a path."""
    return name.replace("\\", "\\\\").replace("/", "\\/") or "\\e"


def join(names: Iterable[str]) -> str:
    """Return the path from the root through `names`."""
    return "/".join(element(name) for name in names)


def display_text(path: str) -> str:
    """Return `path` for people, with names unescaped: several paths may read the same.

    A name that repeats three times or more, as in a recursion, is written once: "98 × search/expand".
    """
    rows = ((name or '""', len([*repeats])) for name, repeats in groupby(split(path)))
    return "/".join(
        f"{count} × {name}" if count >= MIN_REPEATS else "/".join([name] * count) for name, count in rows
    )


def child(parent: str, name: str) -> str:
    """Return the path of the child `name` of the node at `parent`."""
    return f"{parent}/{element(name)}" if parent else element(name)


def split(path: str) -> tuple[str, ...]:
    """Return the names in `path`; the inverse of `join`.

    Raises:
        ValueError: `join` cannot return `path`.
    """
    if path == ROOT:
        return ()
    names = tuple(_ESCAPE.sub(_unescape, part) for part in _ELEMENT.findall(path))
    if join(names) != path:
        raise ValueError(f"not a path: {path[:80]!r}")
    return names


def parent(path: str) -> str:
    """Return the path of the parent of the node at `path`; of the root's path, ""."""
    return join(split(path)[:-1])


def is_descendant(path: str, above: str) -> bool:
    """Tell whether `path` is a node below the one at `above`; no node is below itself."""
    return path.startswith(f"{above}/") if above else path != ""


def name_of(path: str) -> str:
    """Return the last name of `path`; of the root's path, ""."""
    names = split(path)
    return names[-1] if names else ""


def _unescape(match: re.Match[str]) -> str:
    return "" if match[1] == "e" else match[1]
