"""Hundreds of processes of one role: the short-lived are one writer, and every sum is as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.process_families import FAMILY, family
from ticktree.profile import Node, Profile, Writer
from ticktree.profile.measures import Share
from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import MAX_SEPARATE, merge_crowds, read_images


def crowd(number, role="worker"):
    """Processes of one role, of which each lived a nanosecond longer than the one before; one section of each."""
    writers = {
        f"{pid}-1/16": Writer(
            id=f"{pid}-1/16",
            run="r",
            process_name=f"{role}-{pid}",
            is_main=True,
            parent="",
            started_ns=pid,
            last_ns=2 * pid,
        )
        for pid in range(1, number + 1)
    }
    shares = {key: Share(2, 10, 10) for key in writers}
    node = Node(name="job", self_ns=10 * number, by_writer=shares)
    return Profile(root=Node(name="root", children={"job": node}), writers=writers)


def test_few_processes_are_told_apart():
    profile = crowd(MAX_SEPARATE)
    assert merge_crowds(profile) is profile


def test_of_many_those_that_lived_longest_are_told_apart_and_the_rest_is_one_writer():
    added = merge_crowds(crowd(MAX_SEPARATE + 50))
    assert len(added.writers) == MAX_SEPARATE + 1
    (one,) = [writer for writer in added.writers.values() if writer.members > 1]
    assert (one.id, one.members, one.started_ns, one.last_ns) == ("1-1/16", 50, 1, 100)
    assert one.is_main
    shares = added.root.at("job").by_writer
    assert shares[one.id] == Share(100, 500, 500)
    assert len(shares) == MAX_SEPARATE + 1


def test_roles_are_counted_apart():
    workers, actors = crowd(200), crowd(200, role="actor")
    apart = {key.replace("-1/", "-2/"): writer for key, writer in actors.writers.items()}
    both = Profile(
        root=workers.root,
        writers={**workers.writers, **{key: _as(writer, key) for key, writer in apart.items()}},
    )
    assert merge_crowds(both) is both
    assert len(merge_crowds(both, max_separate=100).writers) == 202


def _as(writer, key):
    return replace(writer, id=key)


@pytest.mark.parametrize("max_separate", [0, 1, 3])
def test_no_sum_changes_and_the_profile_holds_together(max_separate):
    images = [Image(image) for image in family().values()]
    whole = read_images(images, "run", [])
    added = merge_crowds(whole, max_separate)
    added.check()
    assert len(added.writers) < len(whole.writers)
    assert sum(writer.members for writer in added.writers.values() if writer.is_main) == len(FAMILY)
    assert sum(added.critical.values()) == sum(whole.critical.values())
    for path, _, node in whole.root.walk():
        other = added.root.at(path)
        assert (other.count, other.total_ns, other.self_ns, other.stats) == (
            node.count,
            node.total_ns,
            node.self_ns,
            node.stats,
        )
        assert list(other.children) == list(node.children)
        for field in ("count", "total_ns", "self_ns"):
            sums = [sum(getattr(share, field) for share in each.by_writer.values()) for each in (node, other)]
            assert sums[0] == sums[1]
        assert sum(w.count for w in other.wakers.values()) == sum(w.count for w in node.wakers.values())
    assert Profile.from_json(added.to_json()) == added
