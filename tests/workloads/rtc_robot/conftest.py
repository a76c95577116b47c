"""Lets the tests import the workload as its own scripts do, where its requirements are installed."""

from __future__ import annotations

import sys

from rtc_workload import MISSING, WORKLOAD

sys.path.insert(0, str(WORKLOAD))
# test_rtc_requirements.py stays, and says that the others are not run.
collect_ignore_glob = ["test_rtc_[!r]*.py"] if MISSING else []

if not MISSING:
    import rtc_robot  # noqa: F401 - readies what lerobot imports, and so before any test imports lerobot
    import torch

    torch.set_num_threads(1)
