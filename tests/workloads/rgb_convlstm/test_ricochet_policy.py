"""The policy's state is truly recurrent: what was seen before decides, what belongs to another episode does not."""

from __future__ import annotations

import pytest
import torch
from gymnasium import spaces
from rgb_convlstm.networks import ConvLstm, ConvLstmNetwork, LstmState, NetworkConfig, pad_boundary
from rgb_convlstm.policy import ConvLstmPolicy
from sb3_contrib.common.recurrent.type_aliases import RNNStates

CONFIG = NetworkConfig(channels=4, layers=2, features=8)
SPACE = spaces.Box(0, 255, (3, 16, 16), "uint8")
ENVS = 2


@pytest.fixture
def policy():
    torch.manual_seed(0)
    result = ConvLstmPolicy(SPACE, spaces.Discrete(8), lambda _: 1e-3, CONFIG)
    # Heads begin almost at nothing, where no difference would be seen.
    with torch.no_grad():
        result.action_net.weight.mul_(100)
    return result.eval()


def pictures(*shape):
    return torch.randint(0, 256, (*shape, 3, 16, 16), dtype=torch.uint8)


def zero_states(policy, sequences=ENVS):
    zeros = torch.zeros(CONFIG.layers, sequences, policy.lstm_actor.hidden_size)
    return RNNStates((zeros, zeros), (zeros, zeros))


def run(policy, observations, starts):
    """Act on `seen` (steps, envs, ...) step by step, as in a rollout."""
    states, outputs = zero_states(policy), []
    with torch.no_grad():
        for picture, start in zip(observations, starts, strict=True):
            actions, values, log_probabilities, states = policy(picture, states, start)
            outputs.append((actions, values.flatten(), log_probabilities))
    return [torch.stack(column) for column in zip(*outputs, strict=True)], states


def test_the_same_picture_has_another_value_after_another_past(policy):
    last = pictures(1, ENVS)
    starts = torch.zeros(3, ENVS)
    values = [run(policy, torch.cat((pictures(2, ENVS), last)), starts)[0][1][-1] for _ in range(2)]
    assert not torch.allclose(*values, atol=1e-6)


def test_an_episode_s_first_step_forgets_everything_and_only_in_its_environment(policy):
    observations = pictures(3, ENVS)
    starts = torch.zeros(3, ENVS)
    starts[2, 1] = 1.0
    (_, values, _), _ = run(policy, observations, starts)
    (_, fresh, _), _ = run(policy, observations[2:], torch.zeros(1, ENVS))
    (_, on, _), _ = run(policy, observations, torch.zeros(3, ENVS))
    assert torch.allclose(values[2, 1], fresh[0, 1], atol=1e-6)
    assert torch.allclose(values[2, 0], on[2, 0], atol=1e-6)
    assert not torch.allclose(values[2, 0], fresh[0, 0], atol=1e-6)


def test_training_computes_what_acting_did_over_whole_sequences_with_an_episode_s_start_in_them(policy):
    steps = 5
    observations, starts = pictures(steps, ENVS), torch.zeros(steps, ENVS)
    starts[3, 0] = 1.0
    (actions, values, log_probabilities), _ = run(policy, observations, starts)

    def in_sequences(stepwise):  # the buffer has a sequence's steps after one another
        return stepwise.transpose(0, 1).flatten(0, 1)

    states = zero_states(policy)
    again, log_again, _ = policy.evaluate_actions(
        in_sequences(observations), in_sequences(actions), states, in_sequences(starts)
    )
    assert torch.allclose(again.flatten(), in_sequences(values), atol=1e-5)
    assert torch.allclose(log_again, in_sequences(log_probabilities), atol=1e-5)


def test_gradients_go_back_through_time(policy):
    features = policy.extract_features(pictures(4).float()).requires_grad_()
    zeros = zero_states(policy, 1).pi
    latent, _ = policy._process_sequence(features, zeros, torch.zeros(4), policy.lstm_actor)
    latent[-1].sum().backward()
    assert features.grad[0].abs().sum() > 0


def test_the_library_s_own_lstm_is_gone_and_every_parameter_is_learned(policy):
    assert isinstance(policy.lstm_actor, ConvLstmNetwork)
    assert not any(isinstance(module, torch.nn.LSTM) for module in policy.modules())
    optimized = {id(parameter) for group in policy.optimizer.param_groups for parameter in group["params"]}
    assert optimized == {id(parameter) for parameter in policy.parameters()}


def test_predict_carries_the_state_that_it_returned(policy):
    picture = pictures(1)[0].numpy()
    _, state = policy.predict(picture)
    _, later = policy.predict(picture, state)
    assert state[0].shape == (CONFIG.layers, 1, policy.lstm_actor.hidden_size)
    assert not (state[0] == later[0]).all()


def test_flattening_a_state_and_back_gives_the_same_state():
    network = ConvLstmNetwork((3, 16, 16), CONFIG)
    state = LstmState(*torch.rand(2, CONFIG.layers, ENVS, *network.state_shape))
    back = network.unflatten_state(network.flatten_state(state))
    assert (back.h == state.h).all()
    assert (back.c == state.c).all()


def test_the_boundary_is_around_the_picture_and_a_channel_says_where():
    padded = pad_boundary(torch.full((1, 3, 4, 4), 0.5))
    assert padded.shape == (1, 4, 6, 6)
    assert (padded[0, :3, 1:-1, 1:-1] == 0.5).all()
    assert padded[0, 3].sum() == 20
    assert padded[0, 3, 1:-1, 1:-1].sum() == 0


def test_a_conv_lstm_of_one_pixel_is_an_lstm():
    torch.manual_seed(1)
    conv_lstm, lstm = ConvLstm(3, 1), torch.nn.LSTM(3, 3)
    (cell,) = conv_lstm.cells
    middle = cell.gates.weight[:, :, 1, 1]  # all that one pixel sees of 3 x 3
    rows = [0, 1, 3, 2]  # theirs: i, f, g, o
    with torch.no_grad():
        gates = middle.unflatten(0, (4, 3))[rows].flatten(0, 1)
        lstm.weight_ih_l0.copy_(gates[:, :3])
        lstm.weight_hh_l0.copy_(gates[:, 3:])
        lstm.bias_ih_l0.copy_(cell.gates.bias.unflatten(0, (4, 3))[rows].flatten())
        lstm.bias_hh_l0.zero_()
    inputs = torch.rand(2, 5, 3)
    zeros = torch.zeros(1, 2, 3, 1, 1)
    output, _ = conv_lstm(inputs[..., None, None], LstmState(zeros, zeros), torch.zeros(2, 5))
    expected, _ = lstm(inputs.transpose(0, 1))
    assert torch.allclose(output[..., 0, 0], expected.transpose(0, 1), atol=1e-6)


def test_a_picture_whose_side_does_not_halve_twice_is_refused():
    with pytest.raises(ValueError, match="multiples of 4"):
        ConvLstmNetwork((3, 18, 18), CONFIG)
