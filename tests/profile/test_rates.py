from __future__ import annotations

import json

from ticktree.profile import Node, Profile, Stats, Work
from ticktree.profile.measures import Rates, rates


def test_rates_are_work_against_time():
    assert rates(Work(bytes=6_000, flops=3_000, items=3), 2_000) == Rates(3e9, 1.5e9, 1.5e6, 2_000 / 3)


def test_work_that_was_not_declared_has_no_rate():
    assert rates(None, 10) == Rates()
    assert rates(Work(items=4), 2) == Rates(items_per_s=2e9, ns_per_item=0.5)


def test_in_no_time_there_is_no_rate():
    assert rates(Work(bytes=1, items=1), 0) == Rates()


def test_a_rate_beyond_all_numbers_is_none():
    assert rates(Work(bytes=10**400), 1) == Rates()


def test_json_has_the_rates_next_to_the_work_and_reads_back_only_the_work():
    copy = Node(name="copy", self_ns=2_000, steady=Stats.of([2_000]), work=Work(bytes=6_000, items=3))
    profile = Profile(root=Node(name="root", children={"copy": copy}))
    (written,) = json.loads(profile.to_json())["tree"]["children"]
    assert written["work"] == {
        "bytes": 6_000,
        "items": 3,
        "bytes_per_s": 3e9,
        "items_per_s": 1.5e6,
        "ns_per_item": 2_000 / 3,
    }
    assert Profile.from_json(profile.to_json()) == profile
