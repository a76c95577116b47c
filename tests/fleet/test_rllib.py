"""RLlib's PPO, unchanged: samplers and learners are roles, and their work is a child of the step that requested it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("ray.rllib.algorithms.ppo")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def named(node, name):
    """All nodes of a name, at or below a node."""
    return [child for _, _, child in node.walk() if child.name == name]


def test_env_runners_and_learners_are_roles_and_iterations_are_ticks(recorded):
    profile, _ = recorded("rllib_ppo.py")
    processes = {}
    for thread in profile.threads.values():
        if thread.is_main:
            processes.setdefault(thread.role, set()).add(thread.process_name)
    assert processes["EnvRunner"] == {"EnvRunner-1", "EnvRunner-2"}
    assert processes["Learner"] == {"Learner-0"}
    (loop,) = (loop for loop in profile.loops.values() if loop.path == "iteration")
    assert loop.ticks == 2, "the third was open until the end"
    (step,) = named(profile.root, "training_step")
    assert step.count == 3
    assert sum(node.count for node in named(step, "sample")) == 6, "each of two env runners, three times"
    assert sum(node.count for node in named(step, "update")) == 3
    waits = [child for child in step.children.values() if child.wait]
    assert waits, "the algorithm waits for its env runners"
    roles = {thread.id: thread.role for thread in profile.threads.values()}
    assert "EnvRunner" in {roles[waker.by] for wait in waits for waker in wait.wakers}
