from __future__ import annotations

import pytest

from support.rule_programs import Program


@pytest.fixture
def program():
    """A program on a virtual clock, in the terms of the loops that the rules are about."""
    with Program() as running:
        yield running
