import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parallel_trainer.ppo import get_gae

SMALL = st.floats(-10.0, 10.0, width=32)
SHARE = st.floats(0.0, 1.0)


def _slow_gae(rewards, values, next_value, gamma, gae_lambda):
    """As the definition has it: for each step the discounted sum of all surprises from there on."""
    next_values = [*values[1:], next_value]
    deltas = [r + gamma * f - v for r, f, v in zip(rewards, next_values, values)]
    return [
        sum((gamma * gae_lambda) ** ahead * delta for ahead, delta in enumerate(deltas[step:]))
        for step in range(len(rewards))
    ]


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=40), SMALL, SHARE, SHARE)
def test_advantages_are_the_discounted_sums_of_all_later_surprises(steps, next_value, gamma, gae_lambda):
    rewards, values = (np.array(column, np.float32) for column in zip(*steps))
    advantages = get_gae(rewards, values, next_value, gamma, gae_lambda)
    assert advantages.dtype == np.float32
    expected = _slow_gae(rewards.tolist(), values.tolist(), next_value, gamma, gae_lambda)
    np.testing.assert_allclose(advantages, expected, rtol=1e-3, atol=1e-3)


def test_with_a_full_trace_the_advantage_is_the_return_less_what_was_expected():
    rewards, values = np.ones(5, np.float32), np.arange(5, dtype=np.float32)
    advantages = get_gae(rewards, values, 7.0, gamma=1.0, gae_lambda=1.0)
    np.testing.assert_allclose(advantages + values, [12.0, 11.0, 10.0, 9.0, 8.0])


@pytest.mark.parametrize(("next_value", "expected"), [(0.0, -2.0), (10.0, 7.0)])
def test_what_is_expected_afterwards_counts_only_where_something_can_follow(next_value, expected):
    advantages = get_gae(np.ones(1, np.float32), np.full(1, 3.0, np.float32), next_value, 0.9, 0.95)
    np.testing.assert_allclose(advantages, [expected])
