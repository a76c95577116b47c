"""Processes that ticktree starts next to the program: to fold, to carry parts of a run to another machine."""

from __future__ import annotations

import os
from pathlib import Path

from ticktree.recorder import OFF_VARIABLE


def environment() -> dict[str, str]:
    """The environment of a process of ours: the program's, so that the same libraries are found.

    It uses no device, needs no threads, and nothing of it is recorded.
    """
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    whole = {"PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in paths if path)}
    alone = {OFF_VARIABLE: "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **(whole if any(paths) else {}), **alone}
