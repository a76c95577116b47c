"""Fixtures for programs that end in some way."""

from __future__ import annotations

import pytest

from support.crashing_programs import Sandbox


@pytest.fixture
def sandbox(tmp_path):
    return Sandbox(tmp_path)
