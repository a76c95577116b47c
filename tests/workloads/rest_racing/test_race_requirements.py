from __future__ import annotations

import pytest
from racing_workload import MISSING


def test_what_the_race_needs_is_installed():
    if MISSING:
        pytest.skip(f"rest_racing is not tested: {', '.join(MISSING)} not installed")
