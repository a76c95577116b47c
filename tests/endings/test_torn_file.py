"""The file of a process that died in the middle of a node's write: `fixtures/caught_in_a_write.tt`.

`catch_in_a_write.py` made it from a real process, and says how. It is kept: that it can still be read, and read
rightly, must not depend on chance.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from catch_in_a_write import torn_node

from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import read_file

FIXTURE = Path(__file__).parent / "fixtures" / "caught_in_a_write.tt"


def test_the_fixture_was_caught_between_the_two_halves_of_a_write():
    node = torn_node(Image.of_file(FIXTURE))
    assert node is not None
    assert node.sequence % 2


def test_what_had_been_left_before_is_read_and_the_call_being_written_is_a_counted_loss():
    image = Image.of_file(FIXTURE)
    node = torn_node(image)
    filed = sum(sum(image.octave(ref)) for ref in node.octaves if ref)
    profile = read_file(FIXTURE)
    profile.check()
    booked = profile.root.at("booked")
    assert booked.count == booked.stats.histogram.count == filed
    assert abs(booked.count - node.stats.count) == 1
    assert profile.losses == {"nodes_caught_in_a_write": 1}
    before = profile.root.at("left before")
    assert (before.count, before.stats.histogram.count) == (1, 1)


@pytest.mark.parametrize("path", ["booked", "left before"])
def test_no_statistic_of_it_is_impossible(path):
    stats = read_file(FIXTURE).root.at(path).stats
    assert 0 <= stats.min_ns <= stats.sum_ns / stats.count <= stats.max_ns
    assert stats.max_ns < 10**10
