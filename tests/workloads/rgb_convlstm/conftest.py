"""Lets the tests import the workload as its own script does, where its requirements are installed."""

from __future__ import annotations

import sys

from ricochet_workload import MISSING, WORKLOAD

sys.path.insert(0, str(WORKLOAD))
# test_ricochet_requirements.py stays, and says that the others are not run.
collect_ignore_glob = ["test_ricochet_[!r]*.py"] if MISSING else []

if not MISSING:
    import torch

    torch.set_num_threads(1)
