"""Counts, extremes, histograms and windows of the native side, against the values themselves."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from ticktree.profile import Histogram, Stats
from ticktree.profile.histogram import THRESHOLDS, bucket_of

LONGEST_NS = 2**48 - 1  # ns: longer ones are counted in the last bucket
durations = st.one_of(
    st.integers(0, 300),
    st.integers(0, LONGEST_NS),
    st.builds(lambda octave, at: (1 << octave) + at, st.integers(0, 47), st.integers(-2, 2)).filter(
        lambda d: 0 <= d <= LONGEST_NS
    ),
)


def recorded(lengths, gaps=()):
    recorder = ticktree.Recorder(virtual_clock=True)
    for index, length in enumerate(lengths):
        recorder.advance(gaps[index] if gaps else 0)
        with recorder.section("x"):
            recorder.advance(length)
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    return profile.root.at("x")


@settings(deadline=None, max_examples=150)
@given(st.lists(durations, min_size=1, max_size=60))
def test_statistics_are_those_of_the_durations(lengths):
    assert recorded(lengths).steady == Stats.of(lengths)


def test_every_bucket_boundary_is_exact():
    """A histogram in which the first value of each bucket, and the one before it, are alone."""
    edges = set()
    for octave in range(48):
        for threshold in THRESHOLDS:
            first = -(-threshold >> (63 - octave)) if octave < 63 else threshold
            first = (threshold + (1 << (63 - octave)) - 1) >> (63 - octave)
            edges |= {first - 1, first, first + 1}
    lengths = sorted(edge for edge in edges if 0 <= edge <= LONGEST_NS)
    result = recorded(lengths).steady.histogram
    assert result == Histogram.of(lengths)


def test_percentiles_are_within_the_promised_error():
    lengths = [7 * 1.003**exponent for exponent in range(3000)]
    lengths = [round(length) for length in lengths if length < LONGEST_NS]
    stats = recorded(lengths).steady
    for q in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999):
        exact = sorted(lengths)[max(0, -(-int(q * 1000) * len(lengths) // 1000) - 1)]
        assert abs(stats.quantile_ns(q) - exact) <= max(1, 0.011 * exact)


def test_calls_longer_than_the_histogram_reaches_are_counted_in_its_last_bucket():
    lengths = [2**48, 2**50, 2**55]
    result = recorded(lengths)
    assert result.steady.histogram.buckets == {bucket_of(LONGEST_NS): 3}
    assert (result.steady.min_ns, result.steady.max_ns, result.total_ns) == (2**48, 2**55, sum(lengths))


def windows_by_hand(lengths, gaps, width):
    counts, totals, now = {}, {}, 0
    for gap, length in zip(gaps, lengths, strict=True):
        now += gap + length
        counts[now // width] = counts.get(now // width, 0) + 1
        totals[now // width] = totals.get(now // width, 0) + length
    return counts, {index: total for index, total in totals.items() if total}


stretches = st.one_of(
    st.integers(0, 50_000_000), st.integers(0, 5_000), st.integers(0, 3_000_000_000), st.just(10_000_000)
)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(stretches, stretches), min_size=1, max_size=50))
def test_a_call_is_booked_in_the_window_where_it_ends(calls):
    gaps, lengths = [gap for gap, _ in calls], [length for _, length in calls]
    windows = recorded(lengths, gaps).windows
    counts, totals = windows_by_hand(lengths, gaps, windows.width_ns)
    assert dict(windows.counts) == counts
    assert dict(windows.totals) == totals


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(stretches, stretches), min_size=1, max_size=50))
def test_windows_are_as_fine_as_64_of_them_allow(calls):
    gaps, lengths = [gap for gap, _ in calls], [length for _, length in calls]
    width = recorded(lengths, gaps).windows.width_ns
    last = sum(gaps) + sum(lengths)
    assert last // width < 64
    assert width == 10_000_000 or last // (width // 2) >= 64


def test_windows_of_a_node_that_was_idle_while_others_doubled_theirs_are_exact():
    recorder = ticktree.Recorder(virtual_clock=True)
    ends = {"early": [], "late": []}
    for step in range(400):
        name = "early" if step < 20 or step == 399 else "late"
        with recorder.section(name):
            recorder.advance(7_000_000)
        ends[name].append((step + 1) * 7_000_000)
    profile = recorder.snapshot()
    recorder.disable()
    for name, moments in ends.items():
        windows = profile.root.at(name).windows
        counts: dict[int, int] = {}
        for moment in moments:
            counts[moment // windows.width_ns] = counts.get(moment // windows.width_ns, 0) + 1
        assert dict(windows.counts) == counts


def test_windows_begin_where_the_run_began_not_where_the_recorder_did():
    import time

    from ticktree.recorder import Recorder
    from ticktree.run.reading.image import Image
    from ticktree.run.reading.reader import read_images

    recorder = Recorder()
    began = time.monotonic_ns() - 5_000_000_000
    recorder.open(run_began_ns=began)
    recorder.enable()
    with recorder.section("x"):
        pass
    elapsed = time.monotonic_ns() - began
    profile = read_images([Image(recorder.image())], "test", [])
    recorder.disable()
    windows = profile.root.at("x").windows
    (index,) = windows.counts
    assert 5_000_000_000 // windows.width_ns <= index <= elapsed // windows.width_ns
