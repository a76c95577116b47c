from __future__ import annotations

import re

import pytest
from rgb_convlstm.selftest import ENVIRONMENT, MODEL, POLICY, TRAINING
from rgb_convlstm.train import evaluate
from rgb_convlstm.train import main as train

import ticktree
from support.workloads.rgb_convlstm import BOARD, SMALL, rows, run_script


def results(output):
    """What a run tells but its speed."""
    return [
        line.partition("% of")[0] for line in output.splitlines() if line.startswith(("step ", "episodes"))
    ]


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """A training with profiling, and the folder that it was in."""
    folder = tmp_path_factory.mktemp("profiled")
    options = (
        "--convlstm",
        "--enable-profiling",
        "--profiling-report",
        "my.json",
        "--profiling-summary-freq",
        "10",
    )
    process = run_script("train.py", *options, *SMALL, cwd=folder)
    assert process.returncode == 0, process.stderr
    return process, folder


@pytest.mark.slow
def test_every_operation_of_a_training_is_in_the_summary_and_in_the_report(profiled):
    process, folder = profiled
    calls = {name: int(numbers[0]) for name, numbers in rows(process.stderr).items()}
    assert set(calls) == {*ENVIRONMENT, *MODEL, *POLICY, *TRAINING}
    assert calls["training_total"] == 1
    # A step of both environments is one forward pass; training and the values at a rollout's end are more of them.
    assert calls["recurrent_policy_forward"] == 16
    assert calls["recurrent_policy_get_hidden_states"] == calls["convlstm_forward_pass"] > 16
    assert calls["env_rgb_draw_grid"] == calls["env_rgb_observation_generation"] >= 32
    profile = ticktree.load(folder / "my.json")
    profile.check()
    step = profile.root.at("training_total/recurrent_policy_forward")
    assert step.at("convlstm_forward_pass/convlstm_layers").count == 16
    assert step.at("recurrent_policy_action_value/recurrent_policy_action_dist").count == 16
    assert step.memory.peak_bytes > 1e8  # torch alone is more
    assert "analyzer --input my.json" in process.stdout


@pytest.mark.slow
def test_a_cached_background_is_drawn_once_an_episode_and_changes_nothing_else(profiled, tmp_path):
    always, _ = profiled
    once = run_script(
        "train.py", "--convlstm", "--enable-profiling", "--cached-background", *SMALL, cwd=tmp_path
    )
    assert results(always.stdout) == results(once.stdout)
    assert len(results(once.stdout)) >= 2
    before, after = (
        {name: int(numbers[0]) for name, numbers in rows(process.stderr).items()}
        for process in (always, once)
    )
    assert after["env_rgb_draw_robots"] == before["env_rgb_draw_robots"] == before["env_rgb_draw_walls"]
    assert after["env_rgb_draw_walls"] == after["env_rgb_draw_grid"] < before["env_rgb_draw_walls"] / 2


@pytest.mark.slow
def test_summaries_are_printed_on_the_way_as_often_as_is_asked_for_and_at_the_end(profiled):
    assert profiled[0].stderr.count("PROFILING SUMMARY:") == 3 + 1


@pytest.mark.slow
def test_without_profiling_nothing_is_written_and_the_same_is_learned(profiled, tmp_path):
    plain = run_script("train.py", "--convlstm", *SMALL, cwd=tmp_path)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
    off = run_script("train.py", "--convlstm", "--enable-profiling", *SMALL, cwd=tmp_path, TICKTREE_OFF="1")
    assert results(plain.stdout) == results(profiled[0].stdout) == results(off.stdout)
    assert off.returncode == 0
    assert rows(off.stderr) == {}


@pytest.mark.slow
def test_under_ticktree_the_library_s_own_rows_are_around_the_operations(tmp_path):
    launcher = ("-m", "ticktree", "run", "--quiet", "--out", "runs")
    process = run_script("train.py", "--convlstm", *SMALL, cwd=tmp_path, before=launcher)
    assert process.returncode == 0, process.stderr
    profile = ticktree.load(tmp_path / "runs")
    profile.check()
    learn = profile.root.at("training_total/learn")
    rollout = learn.at("iteration/collect_rollouts")
    assert rollout.at("VecEnv step").count == 16
    paths = {path for path, _, _ in rollout.walk()}
    for end in ("recurrent_policy_forward", "env_rgb_rendering/env_rgb_draw_walls"):
        assert any(path.endswith(end) for path in paths)
    assert learn.at("iteration/train/policy evaluate_actions").count > 0


@pytest.mark.parametrize("mode", ["rgb_image", "planes"])
def test_the_library_s_own_policies_learn_on_the_same_board(mode, capsys):
    assert train(["--obs-mode", mode, *SMALL]) == 0
    assert "trained: 32 steps" in capsys.readouterr().out


def test_what_was_trained_is_evaluated_on_its_own_board_only(tmp_path, capsys):
    model = str(tmp_path / "model.zip")
    assert train(["--convlstm", "--save", model, *SMALL]) == 0
    capsys.readouterr()
    assert evaluate([model, "--episodes", "3", *BOARD]) == 0
    assert re.fullmatch(r"solved \d of 3.*\n", capsys.readouterr().out)
    for arguments, complaint in (
        ([model], "trained on another board"),
        ([str(tmp_path / "none.zip")], "none.zip: there is no such file"),
        ([], "either a MODEL or --random"),
    ):
        with pytest.raises(SystemExit) as exit_info:
            evaluate(arguments)
        assert exit_info.value.code == 2
        assert complaint in capsys.readouterr().err.splitlines()[-1]


def test_chance_solves_some_puzzles_and_the_same_ones_each_time(capsys):
    assert evaluate(["--random", "--episodes", "20", "--size", "6", "--robots", "1", "--moves", "1"]) == 0
    assert evaluate(["--random", "--episodes", "20", "--size", "6", "--robots", "1", "--moves", "1"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert not first.startswith("solved 0 ")
