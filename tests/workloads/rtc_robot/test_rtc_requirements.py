from __future__ import annotations

import pytest
from rtc_workload import MISSING


def test_what_the_workload_needs_is_installed():
    if MISSING:
        pytest.skip(f"rtc_robot is not tested: {', '.join(MISSING)} not installed")
