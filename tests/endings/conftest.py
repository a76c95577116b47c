"""Where programs end."""

from __future__ import annotations

import pytest

from support.crashing_programs import Place


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)
