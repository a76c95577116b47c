"""The sampler survives any content of a program's memory."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets one process read another")

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "src" / "ticktree"
ROUNDS = 3000

READ = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.read_garbage.argtypes = [ctypes.c_uint64, ctypes.c_int]
print(library.read_garbage(int(sys.argv[2]), int(sys.argv[3])))
"""


@pytest.fixture(scope="module")
def garbage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sampler's reader of stacks, as a library that a process can use on itself."""
    library = tmp_path_factory.mktemp("sampler") / "garbage.so"
    include = sysconfig.get_path("include")
    folders = [SOURCE / "supervisor" / "sampler", SOURCE / "recorder", include, f"{include}/internal"]
    options = [
        "-std=gnu11",
        "-O1",
        "-DNDEBUG",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-w",
        "-o",
        str(library),
    ]
    subprocess.run(
        ["cc", *options, *(f"-I{folder}" for folder in folders), str(HERE / "garbage.c")], check=True
    )
    return library


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_frames_with_random_pointers_do_not_end_the_sampler(garbage: Path, seed: int) -> None:
    command = [sys.executable, "-c", READ, str(garbage), str(seed), str(ROUNDS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) < ROUNDS  # some lead to an end, and some do not
