"""Adding histograms by octave gives the same as adding them by bucket."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.memory_images import changed, place, profile_of, recorder_on
from ticktree.run.reading import layout
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.reader import read_images
from ticktree.run.reading.table import HistogramSums

octaves = st.tuples(
    st.integers(0, 40),
    st.integers(0, layout.OCTAVES - 1),
    st.dictionaries(st.integers(0, layout.SUB_BUCKETS - 1), st.integers(1, 2**40), max_size=3),
)


def counts_of(buckets):
    row = np.zeros(layout.SUB_BUCKETS, np.uint64)
    for sub, count in buckets.items():
        row[sub] = count
    return row


@given(st.lists(st.lists(octaves, max_size=6), max_size=4))
def test_sums_of_octaves_equal_sums_of_buckets_in_any_slots(files):
    sums, expected = HistogramSums(), Counter()
    for file in files:
        slots = np.array([slot for slot, _, _ in file], np.int64)
        numbers = np.array([octave for _, octave, _ in file], np.int64)
        rows = [counts_of(buckets) for _, _, buckets in file]
        sums.add(slots, numbers, np.array(rows, np.uint64).reshape(-1, layout.SUB_BUCKETS))
        for slot, octave, buckets in file:
            for sub, count in buckets.items():
                expected[slot, octave * layout.SUB_BUCKETS + sub] += count
    for slot in range(42):
        assert sums.buckets(slot) == {bucket: count for (at, bucket), count in expected.items() if at == slot}


@pytest.fixture
def image():
    recorder = recorder_on()
    for length in (3, 5, 5, 700):
        with recorder.section("x"):
            recorder.advance(length)
    image = recorder.image()
    recorder.disable()
    return image


def octave_of(image):
    """Return the offset of a count of the node's histogram that is not 0."""
    (node,) = (node for _, node in Image(image).nodes() if node.name)
    ref = next(ref for ref in node.octaves if ref)
    return next(ref * layout.LINE + 8 * at for at, count in enumerate(Image(image).octave(ref)) if count)


def test_a_histogram_is_read_as_it_was_recorded(image):
    stats = profile_of(image).root.at("x").steady
    assert sorted(stats.histogram.buckets.values()) == [1, 1, 2]
    assert (stats.p50_ns, stats.max_ns) == (5, 700)


def test_more_calls_than_possible_are_damage_and_overflow_no_sum(image):
    errors = []
    read_images([Image(changed(image, octave_of(image), 2**64 - 1))], "run", errors)
    assert isinstance(errors[0], DamagedError)
    assert "more calls than there can be" in str(errors[0])


def test_an_octave_outside_the_file_is_damage(image):
    (ref,) = (ref for ref, node in Image(image).nodes() if node.name)
    at = place(layout.Node, "octaves", ref)
    errors = []
    read_images([Image(changed(image, at, 2**32 - 1, 4))], "run", errors)
    assert "leads out of it" in str(errors[0])
