from __future__ import annotations

import pytest
from trainer_workload import MISSING


def test_what_the_workload_needs_is_installed():
    if MISSING:
        pytest.skip(f"parallel_trainer is not tested: {', '.join(MISSING)} not installed")
