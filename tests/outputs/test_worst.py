from __future__ import annotations

from dataclasses import replace

from support.example_profiles import MS, node
from ticktree.outputs import ViewOptions
from ticktree.outputs.view.loops import worst_ticks
from ticktree.profile import Loop, Node, Profile, WorstTick

PLAIN = ViewOptions()


def loop_with(breakdown, causes=None, **fields) -> tuple[Profile, Loop]:
    """Ten ticks of 10 ms, 4 ms of it in `plan` (3 ms of that in `solve`), 2 ms in `act`; and the worst."""
    plan = node("plan", [4 * MS] * 10, node("solve", [3 * MS] * 10))
    ticks = node("loop", [10 * MS] * 10, plan, node("act", [2 * MS] * 10))
    worst = WorstTick(50 * MS, "1/1", 7, 70 * MS, breakdown, causes or {})
    loop = Loop(path="loop", ticks=10, stats=ticks.steady, busy_ns=100 * MS, worst=(worst,), **fields)
    return Profile(root=Node(name="root", children={"loop": ticks}), loops={"loop": loop}), loop


def test_the_part_that_took_longer_than_usual_is_named_first():
    profile, loop = loop_with({"loop/plan": 5 * MS, "loop/act": 40 * MS})
    [[when, *parts]] = worst_ticks(profile, loop, PLAIN)
    assert when == "tick 7 at 70.0 ms took 50.0 ms"
    assert parts == ["act 40.0 ms (usually 2.00 ms)", "plan 5.00 ms"]


def test_a_part_that_another_fills_is_named_by_the_other():
    profile, loop = loop_with({"loop/plan": 46 * MS, "loop/plan/solve": 44 * MS})
    assert worst_ticks(profile, loop, PLAIN)[0][1] == "plan/solve 44.0 ms (usually 3.00 ms)"


def test_a_part_that_another_only_half_fills_is_named_itself():
    profile, loop = loop_with({"loop/plan": 46 * MS, "loop/plan/solve": 20 * MS})
    assert worst_ticks(profile, loop, PLAIN)[0][1] == "plan 46.0 ms (usually 4.00 ms)"


def test_causes_follow_and_those_that_did_not_occur_are_left_out():
    causes = {"gc_ns": 12 * MS, "involuntary_switches": 3, "major_faults": 0, "sun_spots": 2}
    profile, loop = loop_with({}, causes)
    assert worst_ticks(profile, loop, PLAIN)[0][1:] == [
        "garbage collector 12.0 ms",
        "3 involuntary switches",
        "2 sun spots",
    ]


def test_a_part_of_an_unknown_node_has_no_usual_time():
    profile, loop = loop_with({"loop/lost": 5 * MS})
    assert worst_ticks(profile, loop, PLAIN)[0][1] == "lost 5.00 ms"


def test_only_the_longest_and_unusual_ticks_are_shown():
    _, loop = loop_with({})
    late, usual = WorstTick(49 * MS, "1/1", 8, 0), WorstTick(10 * MS, "1/1", 9, 0)
    loop = replace(loop, worst=(*loop.worst, late, usual))
    assert len(worst_ticks(Profile.empty(), loop, PLAIN)) == 2
    assert len(worst_ticks(Profile.empty(), loop, ViewOptions(all=True))) == 3
    assert len(worst_ticks(Profile.empty(), replace(loop, hz=frozenset({10.0})), PLAIN)) == 1


def test_names_in_a_breakdown_cannot_move_the_cursor():
    profile, loop = loop_with({"loop/\x1b[2J": MS})
    assert worst_ticks(profile, loop, PLAIN)[0][1] == r"\x1b[2J 1.00 ms"
