"""The file of a real process that died while it wrote a node; `catch_in_a_write.py` creates it."""

from __future__ import annotations

import pytest

from support.memory_images import read_file
from support.torn_write import catch, torn_node
from ticktree.run.reading.image import Image


@pytest.fixture(scope="module")
def torn_file(tmp_path_factory):
    """It is not in the repository: a reader reads only files of its own build."""
    path = tmp_path_factory.mktemp("torn") / "4711-1.tt"
    path.write_bytes(catch(path))
    return path


def test_the_process_was_stopped_between_the_two_halves_of_a_write(torn_file):
    node = torn_node(Image.of_file(torn_file))
    assert node is not None
    assert node.sequence % 2


def test_earlier_calls_are_read_and_the_torn_call_is_a_counted_loss(torn_file):
    image = Image.of_file(torn_file)
    node = torn_node(image)
    filed = sum(sum(image.octave(ref)) for ref in node.octaves if ref)
    profile = read_file(torn_file)
    profile.check()
    booked_node = profile.root.at("booked")
    assert booked_node.count == booked_node.stats.histogram.count == filed
    assert abs(booked_node.count - node.stats.count) == 1
    assert profile.losses == {"nodes_caught_in_a_write": 1}
    earlier_node = profile.root.at("left before")
    assert (earlier_node.count, earlier_node.stats.histogram.count) == (1, 1)


@pytest.mark.parametrize("path", ["booked", "left before"])
def test_no_statistic_is_impossible(torn_file, path):
    stats = read_file(torn_file).root.at(path).stats
    assert 0 <= stats.min_ns <= stats.sum_ns / stats.count <= stats.max_ns
    assert stats.max_ns < 10**10
