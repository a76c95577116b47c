from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.command_line import CommandLine


@pytest.fixture(scope="session")
def _recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = CommandLine(tmp_path_factory.mktemp("recording"))
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    return here.directory


@pytest.fixture
def recorded(here: CommandLine, _recording: Path) -> CommandLine:
    """With a run in it, of which each test has a copy of its own."""
    shutil.copytree(_recording, here.directory, dirs_exist_ok=True)
    return here
