"""Fixtures for programs that end in some way."""

from __future__ import annotations

import pytest

from support.crashing_programs import Place


@pytest.fixture
def sandbox(tmp_path):
    return Place(tmp_path)
