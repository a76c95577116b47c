"""The engine that merges in this process, one source after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ticktree.loading import load
from ticktree.run.merging import Job, Part, joined, part_of

# So many are held at once. What is merged so far is gone through again for each such batch.
_BATCH = 64


def reduce(sources: Sequence[Path], job: Job) -> Part:
    """Read and merge; see `Engine.reduce`."""
    whole = Part()
    for first in range(0, len(sources), _BATCH):
        whole = joined([whole, *(part_of(source, job, load) for source in sources[first : first + _BATCH])])
    return whole
