"""Lets the tests import the workload as its own script does, where its requirements are installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

WORKLOAD = Path(__file__).parents[3] / "workloads" / "visual_sac"
REQUIRED = ("cv2", "gymnasium", "pygame", "torch")
MISSING = [name for name in REQUIRED if importlib.util.find_spec(name) is None]

sys.path.insert(0, str(WORKLOAD))
# test_sac_requirements.py stays, and says that the others are not run.
collect_ignore_glob = ["test_sac_[!r]*.py"] if MISSING else []

if not MISSING:
    import torch

    torch.set_num_threads(1)
