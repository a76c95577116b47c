"""When a request is due, on a clock of the test's."""

from __future__ import annotations

import pytest

from ticktree.publishing.otlp import Outcome, Pace

GOOD = Outcome()
PASSING = Outcome("answers 503", is_passing=True)
REFUSED = Outcome("answers 401")


def dues(outcomes: list[Outcome], every_s: float, takes_s: float = 0.0, lot: float = 1.0) -> list[float]:
    """When each request was due, as seconds since the run began."""
    pace = Pace(every_s, 1000.0, lambda: lot)
    found = [pace.due_s - 1000.0]
    for outcome in outcomes:
        pace.sent(pace.due_s + takes_s, outcome)
        found.append(pace.due_s - 1000.0)
    return found


def test_requests_are_due_at_an_even_pace_however_long_they_take() -> None:
    assert dues([GOOD] * 4, 10) == [10, 20, 30, 40, 50]
    assert dues([GOOD] * 4, 10, takes_s=9) == [10, 20, 30, 40, 50]


def test_those_that_a_slow_one_took_the_time_of_are_left_out() -> None:
    assert dues([GOOD] * 3, 10, takes_s=25) == [10, 40, 70, 100]


def test_after_a_failure_it_is_tried_soon_and_then_ever_more_seldom() -> None:
    assert dues([PASSING] * 9, 10) == [10, 11, 13, 17, 25, 41, 73, 133, 193, 253]


def test_tries_of_many_are_spread() -> None:
    assert dues([PASSING] * 3, 10, lot=0.0) == [10, 10.5, 11.5, 13.5]


def test_when_it_works_again_the_pace_is_the_old_one() -> None:
    assert dues([PASSING, PASSING, GOOD, GOOD, PASSING], 10) == [10, 11, 13, 20, 30, 31]


def test_what_is_refused_for_good_is_not_sent_again_before_it_is_due() -> None:
    assert dues([REFUSED] * 7, 10) == [10, 20, 30, 40, 50, 66, 98, 158]
    assert dues([REFUSED] * 3, 0.5) == [0.5, 1.5, 3.5, 7.5]


@pytest.mark.parametrize(("asked_s", "due_s"), [(30, 40), (0.1, 11), (1e9, 3610)])
def test_a_collector_that_says_when_is_asked_then_but_not_never(asked_s: float, due_s: float) -> None:
    assert dues([Outcome("answers 429", True, asked_s)], 10) == [10, due_s]
