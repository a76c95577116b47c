from itertools import chain

import numpy as np
import pytest
from parallel_trainer.ppo import RunningMeanStd, UpdateBuffer, minibatches
from parallel_trainer.trainer import Trajectory


def _trajectory(numbers):
    """Every field of a step tells its number."""
    numbers = np.array(numbers, np.float32)
    return Trajectory(
        np.stack([numbers, -numbers], axis=1), numbers[:, None], numbers, numbers, numbers[:2], False, None
    )


def _fill_buffer(*lengths):
    buffer = UpdateBuffer()
    first = 0
    for length in lengths:
        trajectory = _trajectory(range(first, first + length))
        buffer.append(trajectory, trajectory.rewards, 2.0 * trajectory.rewards)
        first += length
    return buffer


@pytest.mark.parametrize("size", [1, 7, 32, 100])
def test_every_step_is_in_exactly_one_minibatch_and_whole(size):
    batch = _fill_buffer(5, 1, 30, 14).take()
    parts = list(minibatches(batch, size, np.random.default_rng(0)))
    assert [len(part.returns) for part in parts[:-1]] == [size] * (len(parts) - 1)
    log_probs = [part.log_probs.tolist() for part in parts]
    assert sorted(chain.from_iterable(log_probs)) == list(range(50))
    for part in parts:
        assert part.observations[:, 0].tolist() == part.log_probs.tolist()
        assert part.observations[:, 1].tolist() == (-part.log_probs).tolist()
        assert part.actions[:, 0].tolist() == part.log_probs.tolist()
        assert part.returns.tolist() == (2 * part.log_probs).tolist()


def test_minibatches_come_in_another_order_each_time_and_in_the_same_for_the_same_seed():
    batch = _fill_buffer(60).take()

    def order(random):
        return [part.returns.tolist() for part in minibatches(batch, 8, random)]

    random = np.random.default_rng(3)
    first, second = order(random), order(random)
    assert first != second
    assert first == order(np.random.default_rng(3))


def test_advantages_are_brought_to_one_scale_and_what_is_taken_is_gone():
    buffer = _fill_buffer(20, 30)
    assert buffer.steps == 50
    batch = buffer.take()
    assert batch.advantages.mean().item() == pytest.approx(0.0, abs=1e-6)
    assert batch.advantages.std(correction=0).item() == pytest.approx(1.0, rel=1e-5)
    assert buffer.steps == 0


def test_advantages_that_are_all_the_same_say_nothing():
    buffer = UpdateBuffer()
    buffer.append(_trajectory(range(4)), np.full(4, 3.0, np.float32), np.zeros(4, np.float32))
    assert buffer.take().advantages.tolist() == [0.0] * 4


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments_of_batches_are_those_of_all_their_vectors(offset):
    random = np.random.default_rng(0)
    batches = [random.normal(offset, 2.0, (size, 3)).astype(np.float32) for size in (1, 40, 7, 300)]
    moments = RunningMeanStd(3)
    assert moments.variance.tolist() == [1.0] * 3
    for batch in batches:
        moments.update(batch)
    everything = np.concatenate(batches).astype(np.float64)
    np.testing.assert_allclose(moments.mean, everything.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.variance, everything.var(axis=0), rtol=1e-6)
    assert moments.count == len(everything)
