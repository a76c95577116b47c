"""What samples say of self time: parts of it that are whole nanoseconds, and together all of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from support.example_profiles import MS
from support.example_samples import CRUNCH, MAIN, NAP, OTHER_LINE, sampled_training, stack, unmarked
from support.profile_strategies import profiles
from ticktree.analysis.sampled import SampledTime, interval, sampled_threads, sampled_times
from ticktree.profile import Weight


def calls_of(root):
    waiting = [root]
    for call in waiting:  # the list grows while it is walked
        waiting.extend(call.calls.values())
    return waiting[1:]


@pytest.mark.slow
@settings(max_examples=50)
@given(profiles())
def test_parts_rows_and_calls_are_all_of_the_time_to_the_nanosecond(profile):
    for time in (*sampled_times(profile).values(), *sampled_threads(profile).values()):
        parts = time.parts()
        assert parts.keys() == time.stacks.keys()
        assert sum(parts.values()) == time.ns
        assert min(parts.values()) >= 0
        assert sum(row.ns for row in time.rows()) == time.ns
        assert sum(row.count for row in time.rows()) == time.count
        assert sum(call.self_ns for call in calls_of(time.tree())) == time.tree().ns == time.ns
        assert all(0 <= row.low <= row.share <= row.high <= 1 for row in time.rows())
        assert sum(time.states().values()) == pytest.approx(1)


@pytest.mark.slow
@settings(max_examples=50)
@given(profiles())
def test_each_part_is_within_a_nanosecond_of_its_share(profile):
    for time in sampled_times(profile).values():
        known = any(weight.ns for weight in time.stacks.values())
        weights = {seen: w.ns if known else w.count for seen, w in time.stacks.items()}
        for seen, ns in time.parts().items():
            assert abs(ns * sum(weights.values()) - time.ns * weights[seen]) < sum(weights.values())


def test_nanoseconds_lost_by_rounding_go_to_the_largest_remainders():
    time = SampledTime(
        {stack("", line): Weight(1, ns) for line, ns in ((MAIN, 2), (CRUNCH, 4), (NAP, 1))}, 10
    )
    assert {seen.lines[0].function: ns for seen, ns in time.parts().items()} == {
        "crunch": 6,
        "main": 3,
        "nap": 1,
    }


def test_a_function_is_a_row_with_its_lines_its_interval_and_what_it_waited_for():
    crunch, nap = sampled_times(unmarked())[""].rows()
    assert (crunch.function, crunch.count) == ("crunch", 70)
    assert [line.line for line in crunch.lines] == [7, 9]
    assert crunch.share == pytest.approx(70 / 99)
    assert (round(crunch.low, 2), round(crunch.high, 2)) == (0.61, 0.79)
    assert nap.states == {"sleep": 1.0}
    assert crunch.ns + nap.ns == 1000 * MS + 1


def test_calls_are_a_tree_with_the_hottest_line_of_each():
    (main,) = sampled_times(unmarked())[""].tree().in_order()
    assert (main.function, main.count, main.hottest_line) == ("main", 99, MAIN.line)
    assert [call.function for call in main.in_order()] == ["crunch", "nap"]
    assert main.in_order()[0].hottest_line == CRUNCH.line != OTHER_LINE.line


def test_threads_in_no_account_are_told_apart_and_what_runs_no_code_has_a_name():
    profile = sampled_training()
    assert sampled_times(profile).keys() == {"", "train/update"}
    assert sampled_threads(profile).keys() == {"other threads"}
    assert "(suspended)" in {row.function for row in sampled_times(profile)["train/update"].rows()}
    idle = SampledTime({stack("", state="running"): Weight(1, 1)}, 5)
    assert [row.function for row in idle.rows()] == ["(no Python code)"]


@pytest.mark.parametrize("count", [1, 7, 1000])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_an_interval_contains_its_share(share, count):
    low, high = interval(share, count)
    assert 0 <= low <= share <= high <= 1
