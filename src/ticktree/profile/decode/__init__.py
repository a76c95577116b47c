"""The model from the objects JSON knows.

Nothing is taken on trust: every type is checked, and what is stored twice must agree.
"""

from __future__ import annotations

from ticktree.profile.decode.gauge import gauge_from
from ticktree.profile.decode.loop import loop_from
from ticktree.profile.decode.node import tree_from
from ticktree.profile.decode.writer import critical_from, writers_from
from ticktree.profile.errors import quoted
from ticktree.profile.fields import Fields
from ticktree.profile.loop import Loop
from ticktree.profile.metadata import Metadata, Value
from ticktree.profile.profile import Profile

__all__ = ["profile_from"]


def profile_from(fields: Fields) -> Profile:
    """Return the profile in `fields`, the outermost object."""
    loops: dict[str, Loop] = {}
    for value in fields.list("loops"):
        loop = loop_from(Fields(value, "loop"))
        if loop.path in loops:
            fields.fail(f"the loop {quoted(loop.path)} is there twice")
        loops[loop.path] = loop
    gauges = fields.sub("gauges", "gauges")
    writers = writers_from(fields)
    ids = list(writers)
    return Profile(
        root=tree_from(fields.raw("tree"), ids),
        loops=loops,
        gauges={name: gauge_from(name, gauges.sub(name, f"gauge {quoted(name)}")) for name in gauges},
        metadata=_metadata(fields.sub("metadata", "metadata")),
        losses=fields.counts("losses"),
        writers=writers,
        critical=critical_from(fields, ids),
        timeline_calls=fields.whole("timeline_calls") if "timeline_calls" in fields else 0,
    )


def _metadata(fields: Fields) -> Metadata:
    result: dict[str, frozenset[Value]] = {}
    for key in fields:
        value = fields.raw(key)
        values = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(each, (str, int, float)) for each in values):
            fields.fail(f"{quoted(key)} should hold strings, numbers or truths")
        result[key] = frozenset(values)
    return result
