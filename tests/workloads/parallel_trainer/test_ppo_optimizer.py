import pytest
import torch
from parallel_trainer.ppo import (
    Batch,
    Critic,
    GaussianActor,
    PPOConfig,
    TorchPPOOptimizer,
    clipped_policy_loss,
)
from torch.distributions import Independent, Normal

EPSILON = 0.2


def _loss_and_slope(advantage, ratio):
    now = torch.tensor([ratio]).log().requires_grad_()
    loss = clipped_policy_loss(torch.tensor([advantage]), now, torch.zeros(1), EPSILON)
    loss.backward()
    return loss.item(), now.grad.item()


@pytest.mark.parametrize(
    ("advantage", "ratio", "loss", "learns"),
    [
        (1.0, 1.0, -1.0, True),
        (1.0, 1.1, -1.1, True),
        (1.0, 1.5, -1.2, False),  # it has moved far enough towards a good action
        (1.0, 0.5, -0.5, True),  # and away from one it may come all the way back
        (-1.0, 0.9, 0.9, True),
        (-1.0, 0.5, 0.8, False),  # it has moved far enough away from a bad action
        (-1.0, 1.5, 1.5, True),
    ],
)
def test_a_probability_that_has_moved_far_enough_the_way_that_pays_gains_no_more(
    advantage, ratio, loss, learns
):
    value, slope = _loss_and_slope(advantage, ratio)
    assert value == pytest.approx(loss, rel=1e-5)
    assert (slope != 0.0) == learns


def _learner(seed=0, **changes):
    torch.manual_seed(seed)
    actor, critic = GaussianActor(3, 2), Critic(3)
    return actor, critic, TorchPPOOptimizer(actor, critic, PPOConfig(**changes))


def _batch(actor, size=256):
    generator = torch.Generator().manual_seed(1)
    observations = torch.randn(size, 3, generator=generator)
    with torch.no_grad():
        mean = actor(observations)
        actions = mean + actor.log_std.exp() * torch.randn(size, 2, generator=generator)
        before = actor.log_prob(mean, actions)
    # An action is the better the more its first part agrees with the first thing seen.
    advantages = actions[:, 0] * observations[:, 0]
    return Batch(observations, actions, before, advantages, observations.sum(dim=1))


@pytest.mark.slow
def test_probabilities_and_entropy_are_those_of_a_gaussian():
    actor, _, _ = _learner()
    batch = _batch(actor)
    gaussian = Independent(Normal(actor(batch.observations), actor.log_std.exp()), 1)
    torch.testing.assert_close(batch.log_probs, gaussian.log_prob(batch.actions).detach())
    torch.testing.assert_close(actor.entropy().expand(256), gaussian.entropy())


@pytest.mark.slow
def test_the_first_update_of_a_fresh_batch_starts_from_the_policy_that_drew_it():
    actor, _, optimizer = _learner()
    batch = _batch(actor)
    stats = optimizer.update(batch)
    assert stats.policy_loss == pytest.approx(-batch.advantages.mean().item(), rel=1e-4)


def test_on_a_fixed_batch_good_actions_become_likelier_and_the_critic_right():
    actor, _, optimizer = _learner()
    batch = _batch(actor)
    history = [optimizer.update(batch) for _ in range(200)]
    assert history[-1].policy_loss < history[0].policy_loss
    assert history[-1].value_loss < 0.1 * history[0].value_loss
    good = batch.advantages > 0.5
    with torch.no_grad():
        after = actor.log_prob(actor(batch.observations), batch.actions)
    assert (after - batch.log_probs)[good].mean() > 0.02


def test_a_bonus_for_entropy_keeps_the_policy_undecided():
    entropies = []
    for beta in (0.0, 1.0):
        actor, _, optimizer = _learner(beta=beta, learning_rate=1e-2)
        batch = _batch(actor)._replace(advantages=torch.zeros(256))
        entropies.append([optimizer.update(batch) for _ in range(30)][-1].entropy)
    assert entropies[1] > entropies[0] + 0.1


def test_learning_rate_clipping_and_bonus_fall_over_the_run_and_never_to_nothing():
    _, _, optimizer = _learner(learning_rate=1.0, epsilon=0.2, beta=1.0)
    values = []
    for done in (0.0, 0.25, 1.0, 1.5):
        optimizer.set_progress(done)
        values.append((optimizer.learning_rate, optimizer.epsilon, optimizer.beta))
    assert values == [
        (1.0, 0.2, 1.0),
        (0.75, pytest.approx(0.15), 0.75),
        (1e-3, 0.1, 1e-3),
        (1e-3, 0.1, 1e-3),
    ]


def test_the_same_seed_learns_the_same():
    results = []
    for _ in range(2):
        actor, _, optimizer = _learner(seed=4)
        results.append([optimizer.update(_batch(actor)) for _ in range(3)])
    assert results[0] == results[1]
