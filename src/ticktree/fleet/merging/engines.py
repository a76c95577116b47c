"""Engines: where the runs of a job are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from ticktree.run.merging import Job, Part


class Engine(Protocol):
    """What each engine's module has."""

    def reduce(self, sources: Sequence[Path], job: Job) -> Part:
        """Read all sources and merge them: `part_of` each, and `joined` in any grouping.

        Args:
            sources: one or more.
            job: what they are parts of.

        Raises:
            TicktreeError: The engine cannot work here.
        """


# By the name that `--engine` takes, each imported when it is asked for.
ENGINES: Mapping[str, str] = {
    "process": "ticktree.fleet.merging.one_process",
    "ray": "ticktree.fleet.merging.on_ray",
}


def engine(name: str) -> Engine:
    """Return the engine called `name`, one of `ENGINES`."""
    return cast("Engine", import_module(ENGINES[name]))
