"""eval.py: driving with what was learned."""

from __future__ import annotations

import pytest
import torch
from visual_sac.agent import SacAgent
from visual_sac.envs import ACTION_DIM, OBS_SHAPE
from visual_sac.train import evaluate


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "weights.pt"
    torch.manual_seed(3)
    agent = SacAgent(OBS_SHAPE, ACTION_DIM, torch.device("cpu"))
    torch.save({"actor": agent.actor.state_dict()}, path)
    return path


def test_the_same_weights_and_seed_drive_the_same_way(weights, capsys):
    for _ in range(2):
        assert evaluate(["--weights", str(weights), "--steps", "3"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert first.startswith("drove 3 steps, returns of the episodes: ")


def test_what_is_no_weights_is_one_line_and_status_2(tmp_path, capsys):
    other_file = tmp_path / "other.pt"
    other_file.write_text("no weights")
    for path in (other_file, tmp_path / "none.pt"):
        with pytest.raises(SystemExit, match="2"):
            evaluate(["--weights", str(path)])
        assert capsys.readouterr().err.splitlines()[-1].startswith(f"eval.py: error: --weights {path}: ")
