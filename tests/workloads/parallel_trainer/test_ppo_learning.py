import os
import re
import subprocess
import sys

import pytest

from support.thorough import thorough
from support.workloads import WORKLOADS

EARNED = re.compile(r"mean reward of the first 10 ([\d.]+), of the last 10 ([\d.]+)")
# A pole that nobody holds falls after about five steps, each worth 1; an episode has at most a thousand.
UNTRAINED_REWARD = 20.0
STATED_REWARD = 200.0


@thorough
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns_to_keep_a_pole_upright(seed, tmp_path):
    asked = ["--workers", "2", "--lockstep", "--batched", "--steps", "16000", "--seed", str(seed)]
    ended = subprocess.run(
        [sys.executable, str(WORKLOADS / "parallel_trainer" / "train.py"), *asked],
        cwd=tmp_path,
        env={**os.environ, "TICKTREE_OFF": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ended.returncode == 0, ended.stderr
    first, last = map(float, EARNED.search(ended.stdout).groups())
    assert first < UNTRAINED_REWARD
    assert last > STATED_REWARD
