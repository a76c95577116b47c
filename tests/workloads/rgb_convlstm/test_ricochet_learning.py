from __future__ import annotations

import re

import pytest

from support.thorough import thorough
from support.workloads.rgb_convlstm import run_script

SOLVED_COUNT = re.compile(r"solved (\d+) of (\d+)")
# One robot on a board of 4 x 4, and two moves: who tries at random solves a good third.
EASY = (
    *("--size", "4", "--robots", "1", "--moves", "1", "--episode-moves", "2"),
    *("--cell-pixels", "8", "--picture-pixels", "16"),
)
LEARNING = (
    *("--convlstm", "--channels", "32", "--layers", "1", "--envs", "8", "--rollout-steps", "64"),
    *("--batch", "128", "--epochs", "10", "--learning-rate", "1e-3"),
)
# Of 200 boards: five standard deviations above who tries at random.
LEARNED_SHARE = 0.55


@thorough
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_it_learns_to_send_a_robot_to_the_target(tmp_path):
    training = ("--timesteps", 16_000, "--seed", 1, "--save", "model.zip")
    train_process = run_script(
        "train.py", *EASY, *LEARNING, *training, cwd=tmp_path, seconds=1500, TICKTREE_OFF="1"
    )
    assert train_process.returncode == 0, train_process.stderr
    evaluation = run_script("eval.py", "model.zip", "--episodes", 200, *EASY, cwd=tmp_path, TICKTREE_OFF="1")
    count, episodes = map(int, SOLVED_COUNT.search(evaluation.stdout).groups())
    assert count / episodes > LEARNED_SHARE
