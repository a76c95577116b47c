"""The critical path as a table: which sections of whom set the run's length."""

from __future__ import annotations

from ticktree.analysis.workers.critical_path import Stretch, critical_path
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.columns import CRITICAL, filled
from ticktree.outputs.view.naming import last_name
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile.short_names import ShortNames

STRETCHES_SHOWN = 6
# Who has so much of a stretch that all of a role have together is worth a name.
NAMED_SHARE = 0.5
# Who has all but so little of it is named alone.
ALONE_SHARE = 0.995
_BAR_RANK = 5  # before a name is cut
BOUND = "Bounds, not forecasts: without one of these, another path may set the run's length."


def critical(profile: Profile, options: ViewOptions) -> Table | None:
    """Return the critical path, the longest stretch first; None where none was recorded."""
    path = critical_path(profile)
    if not path:
        return None
    shown = path if options.all or len(path) == STRETCHES_SHOWN + 1 else path[:STRETCHES_SHOWN]
    names = ShortNames(profile.root)
    entries = [_entry(stretch, names) for stretch in shown]
    rest = path[len(shown) :]
    if rest:
        share, ns = sum(one.share for one in rest), sum(one.ns for one in rest)
        entries.append(_folded(len(rest), share, ns))
    heads = [column.head for column in CRITICAL]
    return Table("critical path", "critical path", heads, entries, bar_rank=_BAR_RANK, remark=BOUND)


def _entry(one: Stretch, names: ShortNames) -> Entry:
    name, most_ns = one.by[0]
    is_alone = len(one.by) == 1 or most_ns >= ALONE_SHARE * one.ns
    notes = []
    if not is_alone and most_ns >= NAMED_SHARE * one.ns:
        notes.append(f"{formatting.share(most_ns / one.ns)} of it {visible(name)}")
    shown = visible(f"{name if is_alone else one.role} in {last_name(one.path, names)}")
    return filled(Entry(shown, (), notes=notes, share=one.share, path=one.path), CRITICAL, one)


def _folded(count: int, share: float, ns: int) -> Entry:
    cells = {"share": formatting.share(share), "time": formatting.time(ns)}
    return Entry(
        name=f"{count} shorter",
        cells=[cells.get(column.key, "") for column in CRITICAL],
        tone="faint",
        share=share,
    )
