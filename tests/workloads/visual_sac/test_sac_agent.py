from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from support.workloads.visual_sac import SHAPE, FixedBuffer, make_agent, make_batch


@pytest.mark.slow
@pytest.mark.parametrize("done", [0.0, 1.0])
def test_on_a_fixed_batch_the_error_of_both_critics_falls(done):
    agent = make_agent(lr=1e-3, init_alpha=0.01, gamma=0.9)
    buffer = FixedBuffer(make_batch(done=done))
    history = [agent.update(buffer, 64) for _ in range(300)]
    for loss in ("critic_1_loss", "critic_2_loss"):
        first, last = (
            np.mean([getattr(metrics, loss) for metrics in part]) for part in (history[:5], history[-5:])
        )
        assert last < 0.1 * first


def test_no_value_is_expected_after_the_end_of_an_episode():
    agent = make_agent()
    final_batch = make_batch(done=1.0)
    torch.testing.assert_close(agent.compute_target_q(final_batch), final_batch.rewards)
    running_batch = make_batch(done=0.0)
    assert not torch.allclose(agent.compute_target_q(running_batch), running_batch.rewards)


def test_targets_start_as_the_critics_and_follow_them_slowly():
    agent = make_agent(tau=0.25)
    before = copy.deepcopy(agent.target_critics[0].state_dict())
    agent.update(FixedBuffer(make_batch()), 64)
    online, target = agent.critics[0].state_dict(), agent.target_critics[0].state_dict()
    for name in before:
        torch.testing.assert_close(target[name], before[name] + 0.25 * (online[name] - before[name]))


def test_freezing_the_critics_changes_what_is_computed_but_not_what_is_learned():
    plain, frozen = make_agent(), make_agent(freeze_critics=True)
    for _ in range(3):
        torch.manual_seed(1)
        first = plain.update(FixedBuffer(make_batch()), 64)
        torch.manual_seed(1)
        second = frozen.update(FixedBuffer(make_batch()), 64)
        assert first == pytest.approx(second, rel=1e-5)
    assert all(parameter.requires_grad for critic in frozen.critics for parameter in critic.parameters())


def test_the_same_seed_learns_the_same():
    metrics = [[make_agent(seed=4).update(FixedBuffer(make_batch()), 64)] for _ in range(2)]
    assert metrics[0] == metrics[1]


def test_the_weight_of_entropy_falls_while_actions_are_more_random_than_asked():
    agent = make_agent(lr=1e-2)
    buffer = FixedBuffer(make_batch())
    alphas = [agent.update(buffer, 64).alpha for _ in range(20)]
    assert alphas[-1] < alphas[0] < 1.0


def test_an_action_is_the_same_for_bytes_and_for_floats_and_stays_in_range():
    agent = make_agent()
    picture = np.random.default_rng(0).integers(0, 256, SHAPE, dtype=np.uint8)
    from_bytes = agent.act(picture, deterministic=True)
    from_floats = agent.act(picture.astype(np.float32) / np.float32(255.0), deterministic=True)
    np.testing.assert_allclose(from_bytes, from_floats, atol=1e-6)
    actions = np.stack([agent.act(picture) for _ in range(50)])
    assert actions.dtype == np.float32
    assert np.abs(actions).max() < 1.0
    assert actions.std() > 0.1
