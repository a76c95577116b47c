from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from commandline import CommandLine

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))  # for the profiles invented there


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


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
