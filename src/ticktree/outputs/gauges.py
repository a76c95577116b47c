"""The gauges as a table, by name."""

from __future__ import annotations

from ticktree.outputs import columns
from ticktree.outputs.document import Entry, Table
from ticktree.outputs.visible import visible
from ticktree.profile import Profile


def gauges(profile: Profile) -> Table:
    """Return the gauges of `profile`."""
    ordered = [profile.gauges[name] for name in sorted(profile.gauges)]
    entries = [
        Entry(visible(gauge.name), [column.text(gauge) for column in columns.GAUGES]) for gauge in ordered
    ]
    return Table("gauges", "gauge", [column.head for column in columns.GAUGES], entries)
