from __future__ import annotations

import re

import pytest
from ricochet_run import run_script

SOLVED = re.compile(r"solved (\d+) of (\d+)")
# One robot on a board of 4 x 4, and two moves: who tries at random solves a good third.
EASY = (
    *("--size", "4", "--robots", "1", "--moves", "1", "--episode-moves", "2"),
    *("--cell-pixels", "8", "--picture-pixels", "16"),
)
LEARNING = (
    *("--convlstm", "--channels", "16", "--layers", "1", "--envs", "8", "--rollout-steps", "32"),
    *("--batch", "64", "--learning-rate", "1e-3"),
)
STATED_SHARE = 0.8


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns_to_send_a_robot_to_the_target(seed, tmp_path):
    def evaluated(*training):
        trained = run_script(
            *("train.py", *EASY, *LEARNING, "--seed", seed, "--save", "model.zip", *training),
            cwd=tmp_path,
            seconds=600,
            TICKTREE_OFF="1",
        )
        assert trained.returncode == 0, trained.stderr
        ended = run_script("eval.py", "model.zip", "--episodes", 100, *EASY, cwd=tmp_path, TICKTREE_OFF="1")
        solved, episodes = map(int, SOLVED.search(ended.stdout).groups())
        return solved / episodes

    untrained = evaluated("--timesteps", 1, "--learning-rate", "1e-9")
    trained = evaluated("--timesteps", 16_000)
    assert trained > max(STATED_SHARE, untrained)
