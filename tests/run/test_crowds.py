"""Hundreds of processes of one role: the short-lived ones become one thread, and no sum changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.process_families import FAMILY, family
from ticktree.profile import Node, Profile, Thread
from ticktree.profile.measures import Share
from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import MAX_SEPARATE, merge_short_lived, read_images


def same_role_profile(count, role="worker"):
    """Return processes of one role with one section, each a nanosecond longer-lived than the previous one."""
    threads = {
        f"{pid}-1/16": Thread(
            id=f"{pid}-1/16",
            run="r",
            process_name=f"{role}-{pid}",
            is_main=True,
            parent="",
            started_ns=pid,
            last_ns=2 * pid,
        )
        for pid in range(1, count + 1)
    }
    shares = {key: Share(2, 10, 10) for key in threads}
    node = Node(name="job", self_ns=10 * count, by_thread=shares)
    return Profile(root=Node(name="root", children={"job": node}), threads=threads)


def test_few_processes_stay_separate():
    profile = same_role_profile(MAX_SEPARATE)
    assert merge_short_lived(profile) is profile


def test_the_longest_lived_processes_stay_separate_and_the_rest_become_one_thread():
    merged = merge_short_lived(same_role_profile(MAX_SEPARATE + 50))
    assert len(merged.threads) == MAX_SEPARATE + 1
    (group,) = [thread for thread in merged.threads.values() if thread.members > 1]
    assert (group.id, group.members, group.started_ns, group.last_ns) == ("1-1/16", 50, 1, 100)
    assert group.is_main
    shares = merged.root.at("job").by_thread
    assert shares[group.id] == Share(100, 500, 500)
    assert len(shares) == MAX_SEPARATE + 1


def test_the_limit_applies_to_each_role():
    workers, actors = same_role_profile(200), same_role_profile(200, role="actor")
    renumbered = {key.replace("-1/", "-2/"): thread for key, thread in actors.threads.items()}
    combined = Profile(
        root=workers.root,
        threads={**workers.threads, **{key: replace(thread, id=key) for key, thread in renumbered.items()}},
    )
    assert merge_short_lived(combined) is combined
    assert len(merge_short_lived(combined, max_separate=100).threads) == 202


@pytest.mark.parametrize("max_separate", [0, 1, 3])
def test_merging_workers_changes_no_sum_and_the_profile_stays_valid(max_separate):
    images = [Image(image) for image in family().values()]
    profile = read_images(images, "run", [])
    merged = merge_short_lived(profile, max_separate)
    merged.check()
    assert len(merged.threads) < len(profile.threads)
    assert sum(thread.members for thread in merged.threads.values() if thread.is_main) == len(FAMILY)
    assert sum(merged.critical.values()) == sum(profile.critical.values())
    for path, _, node in profile.root.walk():
        other = merged.root.at(path)
        assert (other.count, other.total_ns, other.self_ns, other.stats) == (
            node.count,
            node.total_ns,
            node.self_ns,
            node.stats,
        )
        assert list(other.children) == list(node.children)
        for field in ("count", "total_ns", "self_ns"):
            sums = [sum(getattr(share, field) for share in row.by_thread.values()) for row in (node, other)]
            assert sums[0] == sums[1]
        sums = [sum(wakes.count for wakes in row.wakers.values()) for row in (node, other)]
        assert sums[0] == sums[1]
    assert Profile.from_json(merged.to_json()) == merged
