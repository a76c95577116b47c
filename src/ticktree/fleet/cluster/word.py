"""The word: what a worker on any machine of a cluster is told of the run that it is part of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ticktree.errors import TicktreeError
from ticktree.files.owner import boot_id
from ticktree.run.finishing import RunDirectory
from ticktree.run.memory import memory_bases


def word_of(run: RunDirectory, parent: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """What a run's workers are to know: plain values.

    Args:
        run: The run.
        parent: The place in it that workers on its own machine hang under.
        environment: What is recorded, and how.
    """
    return {
        "run": str(run.path),
        "id": run.id,
        "name": run.manifest.metadata.get("name", "run"),
        "boot": run.manifest.owner.boot_id,
        "began_ns": run.manifest.began_ns,
        "parent": parent,
        "environment": dict(environment),
    }


def reached(word: Mapping[str, Any]) -> RunDirectory | None:
    """The run itself, where this process may write into its memory: on its machine, and on the same tmpfs."""
    try:
        run = RunDirectory.join(Path(word["run"]))
    except TicktreeError:
        return None
    mine = run.id == word["id"] and run.manifest.owner.boot_id == boot_id()
    return run if mine and not run.is_finished() and run.memory_dir.parent.parent in memory_bases() else None
