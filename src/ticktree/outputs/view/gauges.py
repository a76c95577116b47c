"""The gauges as a table, by name."""

from __future__ import annotations

from ticktree.outputs.view.columns import GAUGES, filled
from ticktree.outputs.writing.document import Entry, Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile.machine import programs_own


def gauges(profile: Profile) -> Table:
    """Return the gauges that the program of `profile` reported; those of the machine stand in the headline."""
    own = programs_own(profile.gauges)
    ordered = [own[name] for name in sorted(own)]
    entries = [filled(Entry(visible(gauge.name), ()), GAUGES, gauge) for gauge in ordered]
    return Table("gauges", "gauge", [column.head for column in GAUGES], entries)
