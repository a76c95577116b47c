"""Adding many parts in place, against folding them with `+`, which is the rule."""

from __future__ import annotations

from functools import reduce
from operator import add

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_strategies import nodes, profiles, stats, windows

from ticktree.profile import Node, Profile, Stats, Windows
from ticktree.profile.summing import sum_of_trees
from ticktree.profile.tally import StatsTally, WindowsTally


@settings(max_examples=50)
@given(st.lists(nodes("train"), min_size=1, max_size=5))
def test_the_sum_of_many_trees_is_what_adding_them_one_by_one_gives(trees):
    assert sum_of_trees(trees) == reduce(add, trees)
    assert sum_of_trees([*trees, Node(name="train")]) == reduce(add, trees)


@settings(max_examples=30)
@given(st.lists(profiles(), max_size=4))
def test_the_merge_of_many_profiles_is_what_adding_them_one_by_one_gives(many):
    merged = Profile.empty().merge(*many)
    assert merged == reduce(add, many, Profile.empty())
    assert merged.to_json() == reduce(add, many, Profile.empty()).to_json()


@given(st.lists(stats, max_size=6))
def test_a_tally_of_statistics_is_their_sum(parts):
    tally = StatsTally()
    for part in parts:
        tally.add(part)
    assert tally.total() == reduce(add, parts, Stats())


@given(st.lists(windows, max_size=6))
def test_a_tally_of_windows_is_their_sum_whichever_is_coarser(parts):
    tally = WindowsTally()
    for part in parts:
        tally.add(part)
    assert tally.total() == reduce(add, parts, Windows())


def test_a_tally_may_go_on_after_its_total_was_taken():
    tally = StatsTally()
    tally.add(Stats.of([3]))
    before = tally.total()
    tally.add(Stats.of([3]))
    assert before == Stats.of([3])
    assert tally.total() == Stats.of([3, 3])


def test_trees_of_different_names_do_not_merge():
    with pytest.raises(ValueError, match="different names"):
        sum_of_trees([Node(name="a"), Node(name="b")])
