"""The loops as a table, those that miss ticks first."""

from __future__ import annotations

from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.pace import pace
from ticktree.outputs.report.worst import worst_ticks
from ticktree.outputs.writing import columns
from ticktree.outputs.writing.document import Entry, Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Profile
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames


def loops(seen: Survey, options: ViewOptions) -> Table:
    """Return the loops of a profile in the model's order, each with how it kept to its time and its worst ticks."""
    profile = seen.profile
    heads = [column.head for column in columns.LOOPS]
    names = ShortNames(profile.root)
    return Table("loops", "loop", heads, [_entry(profile, loop, options, names) for loop in seen.all_loops])


def _entry(profile: Profile, loop: Loop, options: ViewOptions, names: ShortNames) -> Entry:
    said = (*pace(profile, loop), *worst_ticks(profile, loop, options, names))
    return Entry(
        name=visible(paths.plain(loop.path)),
        short=visible(names.joined(paths.split(loop.path))),
        cells=[column.text(loop) for column in columns.LOOPS],
        tone="alarm" if loop.missed else "plain",
        about=[pieces for pieces in said if pieces],
    )
