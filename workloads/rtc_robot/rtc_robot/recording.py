"""Recording, where nobody started it."""

from __future__ import annotations

import ticktree


def record_anyway() -> None:
    """Record even without `ticktree run`: these programs end with a table of what they recorded.

    lerobot's queue tells its depth through ticktree's own instrument, which `ticktree run` installs by itself.
    """
    ticktree.enable()
    if "lerobot" not in ticktree.instrument.installed():
        ticktree.instrument.install("lerobot")
