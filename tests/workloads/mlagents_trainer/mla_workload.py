"""Where the workload is, and whether what it needs is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

WORKLOAD = Path(__file__).parents[3] / "workloads" / "mlagents_trainer"
REQUIRED = ("gymnasium", "grpc", "mlagents", "mlagents_envs", "torch")
MISSING = [name for name in REQUIRED if importlib.util.find_spec(name) is None]
