"""Merge the runs of a job in this process or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticktree.errors import TicktreeError
from ticktree.loading import load
from ticktree.run.merging import Job, Part, merge_parts, read_part

# Number of sources in memory at once. Each batch is merged with the result so far.
_BATCH = 64
# How many sources, or parts, a task merges. A task costs about a millisecond and reading a profile of 200 nodes
# some ten: most of the work is reading and merging. 10,000 sources make three levels.
FAN_IN = 32


def _in_this_process(sources: Sequence[Path], job: Job) -> Part:
    merged = Part()
    for start in range(0, len(sources), _BATCH):
        merged = merge_parts([merged, _read(sources[start : start + _BATCH], job)])
    return merged


def _on_ray(sources: Sequence[Path], job: Job) -> Part:
    """Merge as a tree: each task merges a few dozen sources, or parts.

    Only leaves read files, so every node must see the files under the same paths. Parts travel between tasks through
    Ray's object store; only the final one reaches this process. Starts Ray on this machine if RAY_ADDRESS does not
    name a cluster.
    """
    ray = _ray()
    starts_ray = not ray.is_initialized()
    if starts_ray:
        # Without an address Ray joins whatever cluster it last saw on this machine, and waits for one that has ended.
        ray.init(os.environ.get("RAY_ADDRESS") or "local", log_to_driver=False, include_dashboard=False)
    try:
        read_task, merge_task = ray.remote(_read), ray.remote(_merge)
        paths = [source.absolute() for source in sources]
        parts = [read_task.remote(group, job) for group in _groups(paths)]
        while len(parts) > 1:
            parts = [merge_task.remote(*group) for group in _groups(parts)]
        merged: Part = ray.get(parts[0]) if parts else Part()
    except ray.exceptions.RayError as error:
        raise TicktreeError(f"Ray cannot merge: {str(error).strip().splitlines()[-1]}") from None
    finally:
        if starts_ray:
            ray.shutdown()
    return merged


def _read(sources: Sequence[Path], job: Job) -> Part:
    return merge_parts(read_part(source, job, load) for source in sources)


def _merge(*parts: Part) -> Part:
    return merge_parts(parts)


def _groups(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[start : start + FAN_IN] for start in range(0, len(items), FAN_IN)]


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise TicktreeError("--engine ray needs Ray: pip install 'ticktree[ray]'") from None
    return ray


# The engines by their names after `--engine`. Each reads every source with `read_part` and merges with `merge_parts`
# in any grouping; it raises TicktreeError if it cannot work here.
ENGINES: Mapping[str, Callable[[Sequence[Path], Job], Part]] = {"process": _in_this_process, "ray": _on_ray}
