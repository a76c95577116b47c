"""Lets the tests import the workload as its own scripts do, where its requirements are installed."""

from __future__ import annotations

import os
import sys

from racing_workload import MISSING, WORKLOAD

sys.path.insert(0, str(WORKLOAD))
# test_race_requirements.py stays, and says that the others are not run.
collect_ignore_glob = ["test_race_[!r]*.py"] if MISSING else []

if not MISSING:
    import torch

    torch.set_num_threads(1)
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
