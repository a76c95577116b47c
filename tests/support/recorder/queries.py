"""Short forms of a recorder's results."""

from __future__ import annotations

from typing import Any

from ticktree.profile import Node


def node(recorder: Any, path: str) -> Node:
    """One node of a recorder's profile."""
    return recorder.snapshot().root.at(path)


def counts(recorder: Any) -> dict[str, int]:
    """How many calls completed at each path; the root left out."""
    return {path: node.count for path, _, node in recorder.snapshot().root.walk() if path}


def times(recorder: Any) -> dict[str, int]:
    """The total of each path, in ns; the root left out."""
    return {path: node.total_ns for path, _, node in recorder.snapshot().root.walk() if path}


def losses(recorder: Any) -> dict[str, int]:
    """What could not be recorded."""
    return dict(recorder.snapshot().losses)
