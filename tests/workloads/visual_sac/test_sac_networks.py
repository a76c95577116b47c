from __future__ import annotations

import pytest
import torch
from torch.distributions import Normal, TanhTransform, TransformedDistribution
from visual_sac.networks import NATURE_CNN, Actor, ConvLayer, Critic, Encoder


def test_the_convolutions_are_those_of_the_reference():
    encoder = Encoder(4, 96)
    x = torch.zeros(1, 4, 96, 96)
    shapes = []
    for layer in encoder.convs:
        x = layer(x)
        shapes.append(tuple(x.shape[1:]))
    # The reference says 22 x 22 for the first, but (96 - 8) / 4 + 1 is 23.
    assert shapes == [(32, 23, 23), (64, 10, 10), (64, 8, 8)]
    assert encoder.feature_dim == 4096


def test_operations_are_counted_per_image():
    # Checked against torch's own counter.
    from torch.utils.flop_counter import FlopCounterMode

    encoder = Encoder(4, 96, NATURE_CNN)
    with FlopCounterMode(display=False) as counter:
        encoder(torch.zeros(3, 4, 96, 96))
    assert counter.get_total_flops() == 3 * sum(encoder.flops)


def test_an_image_too_small_for_the_convolutions_is_refused():
    with pytest.raises(ValueError, match="too small"):
        Encoder(4, 20, NATURE_CNN)


def test_log_probabilities_are_those_of_a_squashed_gaussian():
    torch.manual_seed(0)
    actor = Actor(Encoder(1, 12, (ConvLayer(4, 3, 2),)), action_dim=2, hidden_dim=16).double()
    images = torch.rand(32, 1, 12, 12, dtype=torch.float64)
    actions, log_probabilities = actor.sample(images)
    mean, log_std = actor(images)
    oracle = TransformedDistribution(Normal(mean, log_std.exp()), TanhTransform())
    assert torch.all(actions.abs() < 1.0)
    torch.testing.assert_close(log_probabilities, oracle.log_prob(actions).sum(1, keepdim=True))


def test_log_probabilities_stay_finite_where_an_action_saturates():
    actor = Actor(Encoder(1, 12, (ConvLayer(4, 3, 2),)), action_dim=2, hidden_dim=16)
    torch.nn.init.constant_(actor.mean.bias, 50.0)
    actions, log_probabilities = actor.sample(torch.rand(8, 1, 12, 12))
    assert torch.all(actions == 1.0)
    assert torch.all(torch.isfinite(log_probabilities))


def test_a_critic_gives_one_value_for_each_pair():
    critic = Critic(Encoder(4, 96), action_dim=2)
    assert critic(torch.rand(2, 4, 96, 96), torch.rand(2, 2)).shape == (2, 1)
