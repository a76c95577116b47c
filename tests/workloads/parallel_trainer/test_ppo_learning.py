import os
import re
import subprocess
import sys

import pytest

from support.thorough import thorough
from support.workloads import WORKLOADS

REWARDS = re.compile(r"mean reward of the first 10 ([\d.]+), of the last 10 ([\d.]+)")
# A pole that nobody holds falls after about five steps, each worth 1; an episode has at most a thousand.
UNTRAINED_REWARD = 20.0
STATED_REWARD = 200.0


@thorough
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns_to_keep_a_pole_upright(seed, tmp_path):
    options = ["--workers", "2", "--lockstep", "--batched", "--steps", "16000", "--seed", str(seed)]
    process = subprocess.run(
        [sys.executable, str(WORKLOADS / "parallel_trainer" / "train.py"), *options],
        cwd=tmp_path,
        env={**os.environ, "TICKTREE_OFF": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert process.returncode == 0, process.stderr
    first, last = map(float, REWARDS.search(process.stdout).groups())
    assert first < UNTRAINED_REWARD
    assert last > STATED_REWARD
