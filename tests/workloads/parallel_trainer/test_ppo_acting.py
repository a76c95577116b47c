"""eval.py: episodes with what was learned."""

import pytest
import torch
from parallel_trainer.ppo import GaussianActor
from parallel_trainer.train import evaluate


@pytest.fixture
def weights(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves its log where it is
    path = tmp_path / "weights.pt"
    torch.manual_seed(3)
    torch.save({"actor": GaussianActor(4, 1).state_dict()}, path)  # of an inverted pendulum
    return path


def test_the_same_weights_and_seed_act_the_same_way(weights, capsys):
    for _ in range(2):
        assert evaluate(["--weights", str(weights), "--quick"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert first.startswith("3 episodes of InvertedPendulum-v5: mean reward ")


def test_weights_of_another_task_and_none_at_all_are_one_line_and_status_2(weights, tmp_path, capsys):
    absent = str(tmp_path / "none.pt")
    for arguments in (
        ["--weights", absent],
        ["--weights", str(weights), "--env", "HalfCheetah-v5"],
        ["--env", "Nothing-v0"],
        ["--env", "CartPole-v1"],
    ):
        with pytest.raises(SystemExit, match="2"):
            evaluate(arguments)
        assert capsys.readouterr().err.splitlines()[-1].startswith("eval.py: error: --")
