"""The loops as a table, the one that took longest first."""

from __future__ import annotations

from ticktree.outputs import columns
from ticktree.outputs.document import Entry, Table
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.pace import pace
from ticktree.outputs.visible import visible
from ticktree.outputs.worst import worst_ticks
from ticktree.profile import Loop, Profile


def loops(profile: Profile, options: ViewOptions) -> Table:
    """Return the loops of `profile`, each with how it kept to its time and its worst ticks."""
    ordered = sorted(profile.loops.values(), key=lambda loop: (-loop.busy_ns, loop.path))
    heads = [column.head for column in columns.LOOPS]
    return Table("loops", "loop", heads, [_entry(profile, loop, options) for loop in ordered])


def _entry(profile: Profile, loop: Loop, options: ViewOptions) -> Entry:
    said = (*pace(profile, loop), *worst_ticks(profile, loop, options))
    return Entry(
        name=visible(loop.path),
        cells=[column.text(loop) for column in columns.LOOPS],
        tone="alarm" if loop.missed else "plain",
        about=[pieces for pieces in said if pieces],
    )
