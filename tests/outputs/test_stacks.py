from __future__ import annotations

from hypothesis import given, settings

from support.example_profiles import MS, training
from support.example_samples import sampled_training
from support.hostile_profiles import side_by_side
from support.profile_strategies import profiles
from ticktree.outputs.stacks import stacks
from ticktree.profile import Profile


def own_times(profile, concurrent):
    return {
        "/".join(frame.name for frame in stack.frames): stack.ns
        for stack in stacks(profile)
        if stack.is_concurrent is concurrent
    }


def test_concurrent_nodes_are_separate_with_all_their_descendants():
    assert own_times(side_by_side(), concurrent=True) == {
        "root/main/worker": 10 * MS,
        "root/main/worker/inner": 20 * MS,
    }
    assert own_times(side_by_side(), concurrent=False) == {
        "root": MS,
        "root/main": 19 * MS,
        "root/main/rest": 5 * MS,
        "root/main/tasks": 20 * MS,
    }


def test_a_section_that_ran_concurrently_for_less_than_half_stays_and_is_marked():
    names = {
        stack.frames[-1].name for stack in stacks(side_by_side()) if stack.frames[-1].is_partly_concurrent
    }
    assert names == {"tasks"}


def test_the_stacks_of_a_single_thread_sum_to_the_run():
    profile = training()
    concurrent = sum(own_times(profile, concurrent=True).values())
    assert concurrent == profile.root.at("prefetch").total_ns
    assert sum(own_times(profile, concurrent=False).values()) == profile.root.total_ns


@settings(max_examples=30)
@given(profiles())
def test_every_node_has_one_stack_and_no_nanosecond_is_in_two(profile):
    every = list(stacks(profile))
    nodes = [stack for stack in every if not stack.frames[-1].is_sampled]
    assert len(nodes) == sum(1 for _ in profile.root.walk())
    assert sum(stack.ns for stack in every) == sum(n.self_ns for _, _, n in profile.root.walk())


def test_a_profile_of_nothing_has_the_root_alone():
    (stack,) = stacks(Profile.empty())
    assert [frame.name for frame in stack.frames] == ["root"]


def test_sampled_functions_are_below_their_self_time():
    profile = sampled_training()
    update = [each for each in stacks(profile) if "update" in [frame.name for frame in each.frames]]
    own = [each for each in update if each.frames[-1].is_sampled]
    assert sum(each.ns for each in own) == profile.root.at("train/update").self_ns
    assert not any(each.calls for each in own)
    (node,) = (each for each in update if each.frames[-1].name == "update")
    assert (node.ns, node.calls) == (0, profile.root.at("train/update").count)
    assert {tuple(frame.name for frame in each.frames[3:]) for each in own} == {
        ("Agent.update",),
        ("Agent.update", "crunch"),
        ("Agent.update", "nap"),
        ("(suspended)",),
    }
