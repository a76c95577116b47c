"""Lets the tests import the workload as its own scripts do, where its requirements are installed."""

from __future__ import annotations

import sys

from mla_workload import MISSING, WORKLOAD

sys.path.insert(0, str(WORKLOAD))
# test_mla_requirements.py stays, and says that the others are not run.
collect_ignore_glob = ["test_mla_[!r]*.py"] if MISSING else []
