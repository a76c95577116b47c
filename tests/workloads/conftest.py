"""Collect the tests of the workloads whose requirements are installed; test_workloads.py reports the others."""

from __future__ import annotations

import importlib.util
import os

from support.workloads import REQUIRED, missing

collect_ignore = [name for name in REQUIRED if missing(name)]

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
if importlib.util.find_spec("torch"):
    import torch

    torch.set_num_threads(1)
