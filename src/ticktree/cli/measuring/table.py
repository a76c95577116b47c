"""What `ticktree doctor --measure` found, as a table."""

from __future__ import annotations

from ticktree.cli.checks.ceilings import NAMES, amount
from ticktree.machine.ceilings.kept import Kept
from ticktree.outputs.writing.document import Entry, Head, Table

_HEADS = (Head("this time", 1), Head("kept", 0))


def table(now: Kept, best: Kept) -> Table:
    """Return what was measured `now` beside the `best` of all times.

    Args:
        now: This time.
        best: What is kept.
    """
    entries = [
        Entry(what, [amount(name, now.ceilings[name]), amount(name, best.ceilings[name])])
        for name, (what, _) in NAMES.items()
        if name in now.ceilings
    ]
    return Table("ceilings", "ceiling", _HEADS, entries)
