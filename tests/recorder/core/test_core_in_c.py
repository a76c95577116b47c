"""The core without Python: a C program on the virtual clock, under the sanitizers (the C files in this folder)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.thorough import part_of

CORE = Path(__file__).parent
COMPILER = os.environ.get("CC", "cc").split()[-1]


def can_sanitize(sanitizers: str, folder: Path) -> bool:
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = [COMPILER, f"-fsanitize={sanitizers}", str(source), "-o", str(folder / "empty")]
    built = subprocess.run(command, capture_output=True, check=False).returncode == 0
    return built and subprocess.run([folder / "empty"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which(COMPILER), reason="there is no C compiler")
@pytest.mark.parametrize(
    ("sanitizers", "programs"), [("address,undefined", part_of(50_000)), ("thread", part_of(5_000))]
)
@pytest.mark.slow
def test_the_core_passes_its_tests_in_c_under_sanitizers(
    sanitizers: str, programs: int, tmp_path: Path
) -> None:
    if not can_sanitize(sanitizers, tmp_path):
        pytest.skip(f"{COMPILER} builds nothing that runs with -fsanitize={sanitizers}")
    program = tmp_path / "core"
    built = subprocess.run(
        [CORE / "build.sh", program, sanitizers], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    result = subprocess.run([program, str(programs)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "core: all tests passed\n"
