from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commandline import CommandLine

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))  # for the profiles invented there


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)
