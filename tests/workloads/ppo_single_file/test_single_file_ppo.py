"""A program that does not know ticktree: PPO in one file, recorded by the instruments of torch and gymnasium."""

from __future__ import annotations

import re

import pytest

from support.workloads import WORKLOADS, run_script

SCRIPT = WORKLOADS / "ppo_single_file" / "ppo.py"
# Three iterations of 4 environments and 32 steps, each with 2 epochs of 2 minibatches.
SMALL = ("--total-timesteps", "384", "--num-steps", "32", "--num-minibatches", "2", "--update-epochs", "2")
STEPS, UPDATES = 3 * 32, 3 * 2 * 2


def results(process):
    """What a run prints, but its speed."""
    return [line for line in process.stdout.splitlines() if not line.startswith("SPS")]


def calls(profile, name):
    return sum(node.count for _, _, node in profile.root.walk() if node.name == name)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run_script(tmp_path_factory.mktemp("recorded"), SCRIPT, *SMALL, under=["--quiet"])


def test_the_program_does_not_import_ticktree():
    assert not re.search(r"^\s*(import|from) ticktree", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.slow
def test_every_step_of_the_environments_and_of_the_optimizer_is_in_the_tree(recorded):
    profile = recorded.profile()
    assert profile.losses == {}
    assert calls(profile, "envs.step") == STEPS
    assert calls(profile, "env.step") == 4 * STEPS
    for row in ("backward", "clip_grad_norm_", "optimizer step Adam", "optimizer zero_grad Adam"):
        assert calls(profile, row) == UPDATES, row
    # Actor and critic: at each step and in each minibatch; the critic also at the end of each rollout.
    assert calls(profile, "forward Sequential") == STEPS + UPDATES
    assert calls(profile, "forward Sequential 2") == STEPS + UPDATES + 3


@pytest.mark.slow
def test_steps_of_the_environments_are_ticks(recorded):
    (path,) = recorded.profile().loops
    assert recorded.profile().root.at(path).count == STEPS - 1  # the last one has no next step to end it


@pytest.mark.slow
def test_it_prints_the_same_with_and_without_ticktree(recorded, tmp_path):
    plain = run_script(tmp_path, SCRIPT, *SMALL)
    assert results(plain) == results(recorded)
    assert plain.stderr == ""
    assert sorted(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_report_has_bottlenecks(recorded):
    report = run_script(recorded.folder, "-m", "ticktree", "report").stdout
    for text in ("envs.step", "backward", "steps/s", "Where a step of env goes"):
        assert text in report


@pytest.mark.slow
def test_too_small_a_batch_is_refused(tmp_path):
    process = run_script(tmp_path, SCRIPT, "--num-envs", "1", "--num-steps", "4", status=2)
    assert "at least twice --num-minibatches" in process.stderr


@pytest.mark.slow
def test_it_learns_to_balance_a_pole(tmp_path):
    process = run_script(tmp_path, SCRIPT, "--total-timesteps", "50000")
    first, *_, last = (float(line.rpartition("=")[2]) for line in results(process))
    assert first < 60
    assert last > 150
