"""The timers file: the whole run's tree, the workers' part included, as the users of ML-Agents know it."""

from __future__ import annotations

import os
from pathlib import Path

import ticktree
from ticktree.outputs import EXPORTS


def write_timers(path: Path) -> bool:
    """Write what has been recorded by now, by all processes; False where nothing is."""
    run = os.environ.get("TICKTREE_RUN")
    if run is None:
        return False
    path.write_bytes(EXPORTS["mlagents"].render(ticktree.load(run)))
    return True
