"""When a request is due, on a clock of the test's."""

from __future__ import annotations

import pytest

from ticktree.publishing.otlp import Outcome, SendSchedule

GOOD = Outcome()
TEMPORARY = Outcome("answers 503", is_temporary=True)
REFUSED = Outcome("answers 401")


def due_times(
    outcomes: list[Outcome], every_s: float, takes_s: float = 0.0, jitter: float = 1.0
) -> list[float]:
    """When each request was due, as seconds since the run began."""
    schedule = SendSchedule(every_s, 1000.0, lambda: jitter)
    due_times = [schedule.due_s - 1000.0]
    for outcome in outcomes:
        schedule.sent(schedule.due_s + takes_s, outcome)
        due_times.append(schedule.due_s - 1000.0)
    return due_times


def test_requests_are_due_at_an_even_pace_however_long_they_take() -> None:
    assert due_times([GOOD] * 4, 10) == [10, 20, 30, 40, 50]
    assert due_times([GOOD] * 4, 10, takes_s=9) == [10, 20, 30, 40, 50]


def test_requests_that_were_due_during_a_slow_request_are_left_out() -> None:
    assert due_times([GOOD] * 3, 10, takes_s=25) == [10, 40, 70, 100]


def test_retries_after_failures_back_off() -> None:
    assert due_times([TEMPORARY] * 9, 10) == [10, 11, 13, 17, 25, 41, 73, 133, 193, 253]


def test_retries_are_spread_by_jitter() -> None:
    assert due_times([TEMPORARY] * 3, 10, jitter=0.0) == [10, 10.5, 11.5, 13.5]


def test_after_a_success_the_schedule_is_regular_again() -> None:
    assert due_times([TEMPORARY, TEMPORARY, GOOD, GOOD, TEMPORARY], 10) == [10, 11, 13, 20, 30, 31]


def test_permanent_refusals_are_not_retried_before_the_next_due_time() -> None:
    assert due_times([REFUSED] * 7, 10) == [10, 20, 30, 40, 50, 66, 98, 158]
    assert due_times([REFUSED] * 3, 0.5) == [0.5, 1.5, 3.5, 7.5]


@pytest.mark.parametrize(("retry_after_s", "due_s"), [(30, 40), (0.1, 11), (1e9, 3610)])
def test_retry_after_is_respected_up_to_a_maximum(retry_after_s: float, due_s: float) -> None:
    assert due_times([Outcome("answers 429", True, retry_after_s)], 10) == [10, due_s]
