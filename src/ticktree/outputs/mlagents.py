"""The timers file of the ML-Agents toolkit, for programs that read such files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ticktree.outputs.options import ViewOptions
from ticktree.profile import Node, Profile
from ticktree.profile.machine import program_gauges
from ticktree.profile.metadata import ordered

TIMER_FORMAT_VERSION = "0.1.0"

_SECOND = 1_000_000_000
# The toolkit's names of facts that ticktree has under other names.
_NAMES = {"command": "command_line_arguments", "python": "python_version"}


def render(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - the format has no options
    """Return the profile as JSON and a newline: seconds as decimal numbers, children by name."""
    head: dict[str, Any] = {"name": profile.root.name}
    gauges = program_gauges(profile.gauges)
    if gauges:
        head["gauges"] = {
            name: {"value": gauge.last, "min": gauge.min, "max": gauge.max, "count": gauge.count}
            for name, gauge in sorted(gauges.items())
        }
    head["metadata"] = _metadata(profile)
    # The root of such files is the run, and has a count of 1.
    head |= {**_node_fields(profile.root, is_parallel=False), "count": profile.root.count or 1}
    return "".join([_open_object(head), *_pieces(profile.root), "\n"]).encode()


def _pieces(root: Node) -> Iterator[str]:
    """Yield what follows the root's fields piece by piece: `json` would recurse at every level."""
    to_visit: list[str | tuple[Node, bool]] = ["}", *_children(root, is_parallel=False)]
    while to_visit:
        piece = to_visit.pop()
        if isinstance(piece, str):
            yield piece
            continue
        node, is_parallel = piece
        yield f"{json.dumps(node.key)}:{_open_object(_node_fields(node, is_parallel=is_parallel))}"
        to_visit += ["}", *_children(node, is_parallel=is_parallel)]


def _children(node: Node, *, is_parallel: bool) -> list[str | tuple[Node, bool]]:
    """Return the field of a node's children, the last piece first."""
    pieces: list[str | tuple[Node, bool]] = []
    for name in sorted(node.children, reverse=True):
        child = node.children[name]
        pieces += [",", (child, is_parallel or child.concurrent_ns != 0)]
    return ["}", *pieces[1:], ',"children":{'] if pieces else []


def _open_object(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"), allow_nan=False)[:-1]


def _node_fields(node: Node, *, is_parallel: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"total": node.total_ns / _SECOND, "count": node.count}
    if is_parallel:  # in the toolkit's sense: it and all below it ran concurrently with its parent
        fields["is_parallel"] = True
    return {**fields, "self": node.self_ns / _SECOND}


def _metadata(profile: Profile) -> dict[str, str]:
    facts = {
        _NAMES.get(key, key): ", ".join(str(value) for value in ordered(profile.metadata[key]))
        for key in sorted(profile.metadata)
        if key != "read_from"
    }
    losses = ", ".join(f"{count} {kind}" for kind, count in sorted(profile.losses.items()) if count)
    if losses:
        facts["not_recorded"] = losses
    # So readers can take a `self` of 0 literally: it is never negative.
    facts["exported_by"] = "ticktree"
    return {"timer_format_version": TIMER_FORMAT_VERSION, **facts}
