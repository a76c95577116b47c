from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from support.profile_strategies import threads
from ticktree.profile import Thread

any_thread = threads("7-70/18", ["", "train", "train/update"])
ACTOR = Thread(id="7-70-2/18", process_name="actor-3", role="actor", started_ns=5, last_ns=9)


@settings(max_examples=60)
@given(any_thread, any_thread, any_thread)
def test_threads_merge_in_any_order_and_still_hold(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + a == a
    assert not list((a + b).problems())


def test_a_thread_read_again_later_has_lived_longer_and_may_have_a_name():
    first_read = replace(ACTOR, process_name="", role="", last_ns=7)
    assert first_read + ACTOR == ACTOR


def test_its_process_is_what_stands_before_the_slash():
    assert ACTOR.process == "7-70-2"


def test_different_threads_do_not_merge():
    with pytest.raises(ValueError, match="different threads"):
        ACTOR + replace(ACTOR, id="7-70/18")


@pytest.mark.parametrize(
    "change", [{"members": 0}, {"started_ns": None}, {"last_ns": None}, {"last_ns": 4}, {"started_ns": -1}]
)
def test_an_impossible_value_is_a_problem(change):
    assert not list(ACTOR.problems())
    assert list(replace(ACTOR, **change).problems())
