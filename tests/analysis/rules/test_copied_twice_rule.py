from __future__ import annotations

import pytest

from ticktree.analysis.rules.copies import CopiedTwiceRule

RULE = CopiedTwiceRule()
STATES = 256 * 4 * 96 * 96 * 4


def train(program, *steps, rest=20.0):
    for _ in program.ticks(20, "train"):
        with program.inside("states"):
            for name, ms, moved in steps:
                program.spend(name, ms, bytes=moved)
        program.spend("update", rest)


def test_copying_the_same_bytes_again_is_reported(program):
    train(program, ("np.array", 8, STATES), ("FloatTensor", 4, STATES), ("to device", 2, STATES))
    (finding,) = program.found(RULE)
    assert finding.path == "train/states/FloatTensor"
    assert finding.saving.share == pytest.approx(6 / 34)
    assert finding.facts["copies"] == 3
    assert finding.message == (
        "Do np.array and FloatTensor in one pass (out= of the first into the type that the last one "
        "needs): both process 37.7 MB in states, in 8.00 ms and 6.00 ms per call"
    )


def test_a_conversion_that_hands_the_same_memory_on_is_no_copy(program):
    train(program, ("np.array", 8, STATES), ("FloatTensor", 0.12, STATES))
    assert program.found(RULE) == []


def test_other_data_is_not_the_same_data(program):
    train(program, ("gather", 8, STATES // 4), ("float", 8, STATES))
    assert program.found(RULE) == []


def test_two_equal_halves_are_not_the_same_data_though_they_are_as_large(program):
    train(program, ("left image", 8, STATES), ("right image", 8, STATES))
    assert program.found(RULE) == []


def test_small_data_is_in_the_cache_the_second_time(program):
    train(program, ("np.array", 8, 100_000), ("FloatTensor", 8, 100_000))
    assert program.found(RULE) == []


def test_less_than_a_hundredth_of_the_loop_is_not_worth_a_word(program):
    train(program, ("float", 16, STATES), ("divide", 2, STATES), rest=2000)
    assert program.found(RULE) == []
