from __future__ import annotations

from pathlib import Path

import pytest
from commandline import CommandLine


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)
