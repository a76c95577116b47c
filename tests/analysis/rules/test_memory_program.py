"""The memory rule on a real program, which takes real memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="resident memory is read from /proc"
)

PROGRAM = """
import ticktree
from ticktree.analysis import findings

recorder = ticktree.Recorder()
for _ in recorder.loop("train", range(3)):
    with recorder.section("update", memory=True):
        with recorder.section("batch", memory=True):
            batch = b"x" * {batch}
            del batch
        with recorder.section("small", memory=True):
            small = b"x" * 1_000_000
for found in findings(recorder.snapshot()):
    if found.rule == "memory":
        print(found.path)
"""


@pytest.mark.parametrize(("batch", "said"), [(160_000_000, ["train/update/batch"]), (20_000_000, [])])
def test_a_section_that_takes_much_memory_is_named_and_its_parent_and_neighbour_are_not(batch, said):
    program = PROGRAM.format(batch=batch)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == said
