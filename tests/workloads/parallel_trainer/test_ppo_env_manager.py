import os
import signal
import time

import numpy as np
import psutil
import pytest
import torch
from parallel_trainer import env_manager as module
from parallel_trainer.env_manager import START_METHODS, EnvManagerConfig, SubprocessEnvManager, WorkerError
from parallel_trainer.ppo import TorchPolicy

TASK = "InvertedPendulum-v5"
START = [
    pytest.param(
        method, marks=pytest.mark.skipif(os.name != "posix" and method != "spawn", reason="not here")
    )
    for method in START_METHODS
]


@pytest.fixture
def start_manager():
    """Makes managers whose processes are gone when the test is over, and were when it ended them."""
    managers = []

    def make(**options):
        defaults = {"env_id": TASK, "workers": 3, "steps": 60, "start_method": "fork"}
        manager = SubprocessEnvManager(EnvManagerConfig(**{**defaults, **options}))
        managers.append(manager)
        torch.manual_seed(0)  # networks start from it
        manager.policy = TorchPolicy(manager.start(), seed=0)
        manager.processes = [psutil.Process(worker.process.pid) for worker in manager._workers]
        manager.reset()
        return manager

    yield make
    for manager in managers:
        manager.close()


def _all_steps(manager):
    steps_taken = []
    while steps := manager.get_steps():
        steps_taken.append(steps)
    return steps_taken


def _close(manager):
    manager.close()
    return not any(process.is_running() for process in manager.processes)  # a zombie would still be running


@pytest.mark.parametrize("start_method", START)
def test_exactly_the_steps_that_are_asked_for_are_taken_and_no_process_is_left(start_manager, start_method):
    manager = start_manager(start_method=start_method, workers=2, steps=31)
    names = [worker.process.name for worker in manager._workers]
    assert names == ["env worker 0", "env worker 1"]
    all_steps = _all_steps(manager)
    assert sum(map(len, all_steps)) == 31
    assert all(all_steps)
    assert _close(manager)


def test_each_outcome_answers_its_worker_s_own_action(start_manager):
    manager = start_manager()
    observations = {worker.number: worker.last.observation for worker in manager._workers}
    for steps in _all_steps(manager):
        for action, result in steps:
            np.testing.assert_array_equal(action.observation, observations[result.worker])
            observations[result.worker] = result.observation


def test_steps_come_by_worker_and_in_lockstep_from_all_of_them(start_manager):
    workers = [
        [step.result.worker for step in steps] for steps in _all_steps(start_manager(lockstep=True, steps=32))
    ]
    assert workers == [[0, 1, 2]] * 10 + [[0, 1]]


@pytest.mark.parametrize("lockstep", [False, True])
def test_a_straggler_is_waited_for_only_in_lockstep(start_manager, lockstep):
    manager = start_manager(delays_ms=((1, 150.0),), lockstep=lockstep, steps=30)
    workers = [step.result.worker for steps in _all_steps(manager) for step in steps]
    # Without lockstep the others take nearly all steps meanwhile, however slow the machine is.
    assert (workers.count(1) == 10) == lockstep
    assert lockstep or workers.count(1) < 10


@pytest.mark.parametrize("batched", [False, True])
def test_the_same_seed_in_lockstep_gives_the_same_steps(start_manager, batched):
    rewards = []
    for _ in range(2):
        manager = start_manager(lockstep=True, batched=batched)
        rewards.append([step.result for steps in _all_steps(manager) for step in steps])
        manager.close()
    for first, second in zip(*rewards, strict=True):
        np.testing.assert_array_equal(first.observation, second.observation)
        assert (first.reward, first.done) == (second.reward, second.done)


def test_batched_actions_are_chosen_at_once(start_manager, monkeypatch):
    sizes = []
    evaluate = TorchPolicy.evaluate
    monkeypatch.setattr(
        TorchPolicy, "evaluate", lambda self, seen: sizes.append(len(seen)) or evaluate(self, seen)
    )
    _all_steps(start_manager(lockstep=True, batched=True, steps=9))
    assert sizes == [3, 3, 3]


def test_workers_begin_in_different_places_and_at_an_end_begin_anew(start_manager):
    manager = start_manager(steps=300)
    firsts = {worker.last.observation.tobytes() for worker in manager._workers}
    assert len(firsts) == 3
    final_results = [step.result for steps in _all_steps(manager) for step in steps if step.result.done]
    assert final_results  # a pendulum that nobody holds falls
    for result in final_results:
        assert abs(result.final_obs[1]) > 0.2  # where it has fallen to
        assert abs(result.observation[1]) < 0.1  # upright again


@pytest.mark.parametrize("killer", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_dies_gives_one_clear_error_and_no_process_is_left(start_manager, killer):
    manager = start_manager(steps=10_000)
    manager.get_steps()
    os.kill(manager._workers[1].process.pid, killer)
    with pytest.raises(WorkerError, match=f"^env worker 1 was killed by {killer.name}$"):
        _all_steps(manager)
    assert _close(manager)


def test_a_worker_that_is_gone_before_it_is_asked_gives_the_same_error(start_manager):
    manager = start_manager(steps=10_000)
    process = manager._workers[2].process
    process.kill()
    process.join()
    with pytest.raises(WorkerError, match=r"^env worker 2 was killed by SIGKILL$"):
        _all_steps(manager)
    assert _close(manager)


@pytest.mark.parametrize(
    ("env_id", "complaint"),
    [
        ("CartPole-v1", "CartPole-v1 has no vectors of numbers as observations and actions"),
        ("NoSuchTask-v7", "NoSuchTask"),
    ],
)
def test_an_environment_that_cannot_be_learned_is_refused_by_name(start_manager, env_id, complaint):
    with pytest.raises(WorkerError, match=f"^env worker 0: .*{complaint}"):
        start_manager(env_id=env_id)


def test_an_environment_that_raises_ends_the_training_with_what_it_said(start_manager):
    manager = start_manager(workers=1)
    manager.get_steps()
    with pytest.raises(WorkerError, match=r"^env worker 0: ValueError: .*(5|shape)"):
        manager._workers[0].send(module.Step(np.zeros(5, np.float32)))
        manager._workers[0].receive()
    assert _close(manager)


def test_a_worker_that_does_not_listen_is_ended_all_the_same(start_manager, monkeypatch):
    monkeypatch.setattr(module, "JOIN_TIMEOUT_S", 0.2)
    manager = start_manager(workers=2)
    os.kill(manager._workers[0].process.pid, signal.SIGSTOP)
    began = time.monotonic()
    assert _close(manager)
    assert time.monotonic() - began < 60.0


@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_closing_twice_or_before_all_steps_are_in_is_no_error(start_manager, delay):
    manager = start_manager(delays_ms=((0, delay),))
    manager.get_steps()
    assert _close(manager)
    manager.close()
