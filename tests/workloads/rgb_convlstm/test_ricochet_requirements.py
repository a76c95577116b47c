from __future__ import annotations

import pytest
from ricochet_workload import MISSING


def test_what_the_workload_needs_is_installed():
    if MISSING:
        pytest.skip(f"rgb_convlstm is not tested: {', '.join(MISSING)} not installed")
