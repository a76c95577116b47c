import threading

import numpy as np
import pytest
import torch
from parallel_trainer.ppo import PPOConfig, TorchPolicy
from parallel_trainer.trainer import AgentProcessor, PPOTrainer
from parallel_trainer.worker import EnvSpec

from support.workloads.trainer_steps import make_step

SPEC = EnvSpec(2, np.array([-3.0], np.float32), np.array([1.0], np.float32))
SETTINGS = PPOConfig(buffer_size=20, minibatch_size=8, epochs=2)


def _trainer(**options):
    torch.manual_seed(0)
    return PPOTrainer("dot", SPEC, SETTINGS, steps=100, seed=0, **options)


def _trajectories(count, length=5):
    processor = AgentProcessor(horizon=length)
    results = (processor.add(make_step(number % 7)) for number in range(count * length))
    return [trajectory for trajectory in results if trajectory]


def test_it_learns_when_the_buffer_is_full_and_not_before(capsys):
    trainer = _trainer()
    for number, trajectory in enumerate(_trajectories(9), 1):
        trainer.put(trajectory)
        trainer.advance()
        assert trainer.policies.qsize() == number // 4
    assert trainer.step == 45
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["step 20", "step 40"]


def test_the_policy_it_hands_out_is_not_changed_by_what_it_learns_later():
    trainer = _trainer()
    for trajectory in _trajectories(8):
        trainer.put(trajectory)
    trainer.advance()
    first = trainer.policies.get()
    copies = {name: value.clone() for name, value in first.items()}
    for trajectory in _trajectories(8):
        trainer.put(trajectory)
    trainer.advance()
    second = trainer.policies.get()
    assert all(torch.equal(first[name], copies[name]) for name in copies)
    assert not torch.equal(first["body.0.weight"], second["body.0.weight"])
    torch.testing.assert_close(second["normalizer.mean"], torch.full((2,), 2.875), atol=0.2, rtol=0.0)


def test_a_trainer_in_a_thread_waits_for_trajectories_and_ends_when_told():
    trainer = _trainer(backlog=2, threaded=True)

    def run():
        while not trainer.ended:
            trainer.advance()

    thread = threading.Thread(target=run)
    thread.start()
    for trajectory in _trajectories(8):
        trainer.put(trajectory)
    trainer.put(None)
    thread.join(60.0)
    assert not thread.is_alive()
    assert trainer.step == 40
    assert trainer.policies.qsize() in (1, 2)  # it may have taken in more than it needed before it learned


def test_only_what_can_follow_is_expected():
    trainer = _trainer()
    ended, cut = (
        AgentProcessor(horizon=10).add(make_step(5, ended=how)) for how in ("terminated", "truncated")
    )
    assert trainer._value_estimates(ended)[1] == 0.0
    with torch.no_grad():
        expected = trainer.critic(torch.tensor([[6.0, 6.0]])).item()
    assert trainer._value_estimates(cut)[1] == pytest.approx(expected)


def test_actions_are_drawn_from_the_policy_and_bounded_for_the_environment():
    policy = TorchPolicy(SPEC, seed=3)
    with torch.no_grad():
        policy.actor.log_std.fill_(0.5)
    observations = [np.array([number, -number], np.float32) for number in range(200)]
    infos = policy.evaluate(observations)
    assert all(info.observation is observation for info, observation in zip(infos, observations, strict=True))
    actions = np.array([info.action[0] for info in infos])
    sent = np.array([info.env_action[0] for info in infos])
    assert np.abs(actions).max() > 1.0
    np.testing.assert_allclose(sent, -1.0 + 2.0 * actions.clip(-1.0, 1.0), rtol=1e-6)
    assert sent.min() >= -3.0
    assert sent.max() <= 1.0
    mean = policy.actor(torch.from_numpy(np.stack(observations)))
    expected = policy.actor.log_prob(mean, torch.from_numpy(actions)[:, None]).tolist()
    assert [info.log_prob for info in infos] == pytest.approx(expected, rel=1e-4)


def test_policies_draw_the_same_for_the_same_seed_whatever_others_draw_meanwhile():
    observations = [np.zeros(2, np.float32)]
    first = TorchPolicy(SPEC, seed=3)
    second = TorchPolicy(SPEC, seed=3)
    second.load(first.actor.state_dict())
    actions = [first.evaluate(observations)[0].action.item() for _ in range(3)]
    torch.rand(100)
    assert actions == [second.evaluate(observations)[0].action.item() for _ in range(3)]
