from __future__ import annotations

import numpy as np
import pytest
import torch
from visual_sac.replay_buffer import BUFFERS, Transition

CPU = torch.device("cpu")
SHAPE = (3, 4, 4)


def _stack(numbers, normalized):
    # A frame is all of one value, its own number, so that a batch tells where each frame came from.
    stack = np.stack([np.full(SHAPE[1:], number, np.uint8) for number in numbers])
    return stack.astype(np.float32) / np.float32(255.0) if normalized else stack


def _play(buffer, lengths):
    """Add episodes of these lengths; return what was added, by the number that is the action."""
    expected = {}
    frame = 0
    for length in lengths:
        history = [frame] * SHAPE[0]
        buffer.start_episode(_stack(history, buffer.normalized))
        for step in range(length):
            frame += 1
            following = [*history[1:], frame]
            count = len(expected)
            done = step == length - 1
            before, after = (_stack(numbers, buffer.normalized) for numbers in (history, following))
            buffer.add(Transition(before, np.array([count, -count], np.float32), count / 2, after, done))
            expected[count] = (history, following, count / 2, float(done))
            history = following
        frame += 1
    return expected


def _transitions(batch):
    for state, action, reward, next_state, done in zip(*batch, strict=True):
        frames = [[round(float(frame.mean()) * 255) for frame in frames] for frames in (state, next_state)]
        yield int(action[0]), (*frames, float(reward), float(done))


def _make(name, capacity):
    return BUFFERS[name](capacity, SHAPE, 2, CPU, seed=3)


@pytest.mark.parametrize("name", BUFFERS)
@pytest.mark.parametrize("lengths", [[30], [5, 1, 9, 2, 20], [1] * 40])
def test_every_buffer_gives_back_the_transitions_it_was_given(name, lengths):
    buffer = _make(name, 100)
    expected = _play(buffer, lengths)
    assert len(buffer) == len(expected)
    for _ in range(10):
        for number, transition in _transitions(buffer.sample(16)):
            assert transition == expected[number]


@pytest.mark.parametrize("name", BUFFERS)
@pytest.mark.parametrize("lengths", [[100], [7] * 14, [3, 40, 1, 1, 50], [1] * 90])
def test_a_full_buffer_forgets_the_oldest_and_never_mixes_times(name, lengths):
    buffer = _make(name, 20)
    expected = _play(buffer, lengths)
    transitions = {
        number: transition for _ in range(30) for number, transition in _transitions(buffer.sample(10))
    }
    assert all(transition == expected[number] for number, transition in transitions.items())
    assert min(transitions) >= len(expected) - 20
    assert max(transitions) == len(expected) - 1


def test_a_ring_holds_its_full_capacity_while_episodes_are_long_and_fewer_while_they_are_short():
    long, short = _make("ring", 64), _make("ring", 64)
    _play(long, [100, 100])
    _play(short, [1] * 100)
    assert len(long) == 64
    assert 32 <= len(short) < 64


@pytest.mark.parametrize("name", BUFFERS)
def test_batches_have_the_shapes_the_networks_want(name):
    buffer = _make(name, 50)
    _play(buffer, [40])
    batch = buffer.sample(8)
    assert [tuple(tensor.shape) for tensor in batch] == [(8, *SHAPE), (8, 2), (8, 1), (8, *SHAPE), (8, 1)]
    assert all(tensor.dtype == torch.float32 for tensor in batch)
    assert batch.nbytes == sum(tensor.numel() * 4 for tensor in batch)
    assert 0.0 <= float(batch.obs.min()) <= float(batch.obs.max()) <= 1.0


@pytest.mark.parametrize("name", BUFFERS)
def test_the_same_seed_draws_the_same_batch(name):
    first, second = _make(name, 50), _make(name, 50)
    for buffer in (first, second):
        _play(buffer, [40])
    assert all(torch.equal(*pair) for pair in zip(first.sample(8), second.sample(8), strict=True))


@pytest.mark.parametrize("name", BUFFERS)
def test_drawing_from_an_empty_buffer_is_refused(name):
    with pytest.raises(ValueError):
        _make(name, 10).sample(4)


def test_a_ring_uses_the_memory_of_its_last_batch_again():
    buffer = _make("ring", 50)
    _play(buffer, [40])
    places = {tensor.data_ptr() for batch in (buffer.sample(8), buffer.sample(8)) for tensor in batch[::3]}
    assert len(places) == 2


def test_memory_needed_is_in_the_ratio_that_each_way_of_keeping_promises():
    bytes_needed = {name: kind.bytes_needed(1000, (4, 96, 96)) for name, kind in BUFFERS.items()}
    assert bytes_needed == {"list": 147_456_000, "uint8": 73_728_000, "ring": 9_216_000}
