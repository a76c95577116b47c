from __future__ import annotations

import pytest
from mla_workload import MISSING


def test_what_the_workload_needs_is_installed():
    if MISSING:
        pytest.skip(
            f"mlagents_trainer is not tested: {', '.join(MISSING)} not installed; `make test-apart` does it"
        )
