"""The window of the last seconds moves with the readings."""

from __future__ import annotations

import ticktree
from ticktree.live.difference import READINGS_PER_WINDOW, Recent
from ticktree.profile import Node, Profile, Stats

S = 1_000_000_000


def calls(count: int) -> Profile:
    step = Node(name="step", self_ns=count * 10, steady=Stats.of([10] * count))
    return Profile(Node(name="root", children={"step": step}))


def watched(recent: Recent, *readings: tuple[float, int]) -> list[tuple[float, int] | None]:
    """How long each stretch is, in seconds, and how many calls there are in it."""
    spans = [recent.add(round(at_s * S), calls(count)) for at_s, count in readings]
    return [span and (span.length_ns / S, span.profile.root.at("step").count) for span in spans]


def test_the_first_reading_has_nothing_before_it():
    assert watched(Recent(10 * S), (5, 100)) == [None]


def test_the_window_grows_to_its_length_and_then_moves():
    found = watched(Recent(3 * S), *((at_s, at_s * at_s) for at_s in range(7)))
    assert found == [None, (1, 1), (2, 4), (3, 9), (3, 16 - 1), (3, 25 - 4), (3, 36 - 9)]


def test_a_late_reading_makes_the_window_longer_rather_than_empty():
    assert watched(Recent(3 * S), (0, 0), (1, 10), (9, 90)) == [None, (1, 10), (8, 80)]


def test_two_readings_of_one_moment_have_no_span():
    assert watched(Recent(3 * S), (1, 10), (1, 12), (2, 20)) == [None, None, (1, 10)]


def test_a_reset_of_the_recording_restarts_the_window():
    assert watched(Recent(9 * S), (0, 50), (1, 60), (2, 5), (3, 9)) == [None, (1, 10), None, (1, 4)]


def test_after_a_pause_the_unwatched_time_is_in_no_span():
    recent = Recent(3 * S)
    assert watched(recent, (0, 0), (1, 10)) == [None, (1, 10)]
    recent.clear()
    assert watched(recent, (60, 600), (61, 620)) == [None, (1, 20)]


def test_frequent_readings_are_not_all_stored():
    recent = Recent(10 * S)
    for tenth in range(1000):
        span = recent.add(tenth * S // 10, calls(tenth))
        assert len(recent._readings) <= READINGS_PER_WINDOW + 3
        if tenth > 120:
            assert span is not None
            assert 10 <= span.length_ns / S <= 11.1
            assert span.profile.root.at("step").count == span.length_ns * 10 // S


def test_a_process_that_starts_later_is_all_new():
    recorder = ticktree.Recorder(virtual_clock=True)
    recent = Recent(10 * S)
    recent.add(0, recorder.snapshot())
    with recorder.section("late"):
        recorder.advance(7)
    span = recent.add(S, recorder.snapshot())
    assert span is not None
    assert span.profile.root.at("late").total_ns == 7
