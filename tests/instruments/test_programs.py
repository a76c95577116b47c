"""Unmodified programs under `ticktree run`: what they print, and the tree their author would have made by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ticktree.run.finishing import RunDirectory

pytest.importorskip("gymnasium")

# Each starts a program twice, most with torch: on a busy machine that alone may take a minute.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture
def recorded_program(tmp_path):
    """Runs one of the programs beside, once plainly and once recorded, and gives its profile."""

    def run(name, *arguments, options=()):
        memory = tmp_path / "memory"
        memory.mkdir(exist_ok=True)
        environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(memory)}
        words = [str(PROGRAMS / name), *arguments]
        plain, ours = (
            subprocess.run(
                [sys.executable, *before, *words],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=280,
                check=False,
            )
            for before in ([], ["-m", "ticktree", "run", "--quiet", *options])
        )
        assert plain.returncode == 0, plain.stderr
        assert (ours.returncode, ours.stdout, ours.stderr) == (0, plain.stdout, plain.stderr)
        assert list(memory.glob("*/*")) == []
        profile = RunDirectory.newest(tmp_path / "ticktree-runs").profile()
        profile.check()  # the accounts add up
        assert not profile.losses
        return profile

    return run


def counts_below(node):
    return {key: child.count for key, child in node.children.items()}


def total_count(profile, name):
    return sum(node.count for _, _, node in profile.root.walk() if node.name == name)


@pytest.mark.parametrize("vector", ["sync", "fork", "spawn"])
def test_a_rollout_of_a_vector_of_envs(recorded_program, vector):
    kind = ("sync", "-") if vector == "sync" else ("async", vector)
    profile = recorded_program("rollout.py", *kind, "20")
    loop = profile.loops["env"]
    assert (loop.ticks, loop.incomplete) == (19, 1)
    steps = profile.root.at("env/envs.step")
    assert steps.count == 20
    assert profile.root.at("envs.reset").count == 1
    assert profile.root.at("envs.close").count == 1
    # After its 10th step an env is reset in the place of a step.
    if vector == "sync":
        assert counts_below(steps) == {"env.step": 38, "env.reset": 2}
    else:
        assert counts_below(steps)["step_async"] == counts_below(steps)["step_wait"] == 20
        assert steps.children["step_wait"].wait
        assert not steps.children["step_async"].wait
        assert total_count(profile, "env.step") == 38
        assert set(profile.loops) == {"env"}  # its workers have none
        workers = {waker.by for waker in steps.children["step_wait"].wakers}
        assert len(workers) in (1, 2)


def test_soft_actor_critic_in_one_file(recorded_program):
    pytest.importorskip("torch")
    profile = recorded_program("sac.py", "80")
    loop = profile.loops["env"]
    assert (loop.ticks, loop.incomplete) == (79, 1)
    env = profile.root.at("env")
    assert env.children["env.step"].count == 80
    assert total_count(profile, "env.step") == 80  # two wrappers, and each step once
    assert env.children["env.reset"].count >= 3
    assert profile.root.at("env.reset").count == profile.root.at("env.close").count == 1
    # A tick is all of an iteration: acting, stepping, storing and learning.
    assert env.total_ns >= sum(child.total_ns - child.concurrent_ns for child in env.children.values())


@pytest.mark.parametrize("vector", ["sync", "async"])
def test_proximal_policy_optimisation_in_one_file(recorded_program, vector):
    pytest.importorskip("torch")
    profile = recorded_program("ppo.py", "2", vector)
    loop = profile.loops["env"]
    assert (loop.ticks, loop.incomplete) == (31, 1)
    steps = profile.root.at("env/envs.step")
    assert steps.count == 32
    if vector == "sync":
        assert sum(counts_below(steps).values()) == 96
    else:
        assert set(counts_below(steps)) >= {"step_async", "step_wait"}
    assert total_count(profile, "env.step") + total_count(profile, "env.reset") == 96 + 3


def test_with_nothing_to_be_recorded_by_itself_there_is_nothing(recorded_program):
    profile = recorded_program("rollout.py", "sync", "-", "5", options=["--no-instrument"])
    assert not profile.root.children
    assert not profile.loops


def test_each_wrappers_share_in_a_vector(recorded_program):
    profile = recorded_program(
        "rollout.py", "sync", "-", "5", options=["--instrument", "gymnasium,gymnasium-wrappers"]
    )
    step = "env/envs.step/RecordEpisodeStatistics.step/SyncVectorEnv.step"
    assert profile.root.at(step).count == 5
    layers = "env.step/TimeLimit.step/Counter.step"
    assert profile.root.at(f"{step}/{layers}").count == 10
