from __future__ import annotations

import pytest

from ticktree.analysis.rules.copies import ListOfArraysRule

RULE = ListOfArraysRule()
STATES = 256 * 4 * 96 * 96 * 4
COPIES = {"ceiling__memcpy_bytes_per_s": 10e9, "ceiling__source": "measured"}


def train(program, name="np.array", ms=8.3, update=30, items=256):
    """Visual SAC's sampling from a list of transitions, as it was measured, before an update of so many ms."""
    for _ in program.ticks(20, "train"):
        with program.inside("update"):
            with program.inside("sample", bytes=2 * STATES, **({"items": items} if items else {})):
                program.spend("select", 0.1)
                for half in ("states", "next states"):
                    with program.inside(half):
                        program.spend(name, ms, bytes=STATES)
                        program.spend("FloatTensor", 0.12)
                program.spend("rest", 0.66)
            program.spend("backward", update)


def test_arrays_made_of_lists_for_each_batch_are_reported(program):
    train(program)
    (finding,) = program.found(RULE, **COPIES)
    assert finding.path == "train/update/sample/states/np.array"
    assert finding.facts["per_batch_ns"] == 16_600_000
    assert finding.facts["copied_bytes_per_s"] == pytest.approx(STATES / 8.3e-3)
    assert finding.saving.share == pytest.approx(16.6 * (1 - 0.4548) / 47.6, rel=0.01)
    assert finding.message == (
        "Keep stored items in one preallocated array and index batches out of it: np.array makes an "
        "array of 256 items for each sample, 16.6 ms of its 17.6 ms, at 4.55 GB/s"
    )
    assert "preallocated" in finding.message


def test_without_the_machines_speed_all_of_it_is_at_stake(program):
    train(program)
    (finding,) = program.found(RULE)
    assert finding.saving.share == pytest.approx(16.6 / 47.6)


def test_a_computed_speed_is_not_used_for_comparison(program):
    train(program)
    (finding,) = program.found(RULE, ceiling__memcpy_bytes_per_s=400e9, ceiling__source="reckoned")
    assert finding.saving.share == pytest.approx(16.6 / 47.6)


def test_of_several_machines_it_is_held_against_the_slowest(program):
    train(program, ms=4.5)
    both = {**COPIES, "ceiling__memcpy_bytes_per_s": (10e9, 60e9)}
    assert program.found(RULE, **both) == []


def test_as_fast_as_the_machine_copies_is_not_reported(program):
    train(program, ms=4.5)
    assert program.found(RULE, **COPIES) == []


def test_next_to_an_update_of_two_seconds_it_is_not_reported(program):
    train(program, update=2000)
    assert program.found(RULE, **COPIES) == []


def test_another_operation_of_the_same_speed_is_not_mistaken_for_it(program):
    train(program, name="decompress")
    assert program.found(RULE, **COPIES) == []


def test_a_single_array_gives_no_finding(program):
    train(program, items=0)
    assert program.found(RULE, **COPIES) == []
