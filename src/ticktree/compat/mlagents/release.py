"""The shape of the file that a release of the toolkit writes: `everywhere` takes that of the installed one."""

from __future__ import annotations

from typing import Any

_NEWEST = "1.1.0"

emulated = _NEWEST  # the version of the toolkit whose file is written


def as_written_by_release(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a tree as the emulated release writes it.

    Releases before 0.15 write lists of objects with names in place of objects by name, those before 0.16 no metadata,
    and 0.16's development versions no command line. Read from the packages mlagents_envs 0.13.0 to 1.1.0 and, of the
    development version, from the toolkit's history.
    """
    release = tuple(int(part) for part in emulated.split(".")[:2])
    if release < (0, 16):
        tree.pop("metadata", None)
    elif emulated.startswith("0.16.0.dev"):
        tree.get("metadata", {}).pop("command_line_arguments", None)
    return _with_lists(tree) if release < (0, 15) else tree


def _with_lists(tree: dict[str, Any]) -> dict[str, Any]:
    waiting = [tree]
    while waiting:  # not by recursion: trees are as deep as the program recursed
        node = waiting.pop()
        for key in ("gauges", "children"):
            if key in node:
                node[key] = [{"name": name, **value} for name, value in node[key].items()]
        waiting.extend(node.get("children", ()))
    return tree
