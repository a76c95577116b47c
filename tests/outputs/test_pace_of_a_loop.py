from __future__ import annotations

from dataclasses import replace

from support.example_profiles import MS, control, node, robot
from ticktree.outputs.view.notes import pace
from ticktree.profile import Histogram, Lateness, Loop, Node, Profile


def loop_with(*children: Node, count: int = 10, **fields) -> tuple[Profile, Loop]:
    """Ticks of 10 ms each."""
    ticks = node("loop", [10 * MS] * count, *children)
    loop = Loop(path="loop", ticks=count, stats=ticks.steady, busy_ns=ticks.total_ns, **fields)
    return Profile(root=Node(name="root", children={"loop": ticks}), loops={"loop": loop}), loop


def late_by(*ms: int) -> Lateness:
    return Lateness(len(ms), sum(ms) * MS, max(ms) * MS, Histogram.of(each * MS for each in ms))


def test_how_late_how_often_in_a_row_and_what_was_cut_short_is_one_line():
    profile = robot()
    misses, work, ages = pace(profile, profile.loops["control"])
    assert misses == [
        "when late, by 10.1 ms p50",
        "33.7 ms at most",
        "up to 9 missed in a row",
        "1 cut short",
    ]
    assert work == [
        "11.5 ms busy per tick, 34% of the budget",
        "slack 54%",
        "other waits 12%",
        "jitter 1.34 ms",
    ]
    assert ages == ["sensor to action: wrist camera 31.8 ms p50", "77.3 ms p99", "110 ms at most"]


def test_lateness_has_a_p99_only_if_that_is_not_the_maximum():
    some = late_by(*range(1, 100))
    assert pace(*loop_with(lateness=some))[0] == ["when late, by 50.1 ms p50", "99.0 ms at most"]
    more = late_by(*range(1, 201))
    assert [piece.split()[-1] for piece in pace(*loop_with(lateness=more))[0]] == ["p50", "p99", "most"]


def test_one_late_tick_has_one_lateness():
    assert pace(*loop_with(lateness=late_by(3))) == [["when late, by 3.00 ms"]]


def test_without_the_lateness_of_each_tick_the_mean_is_shown():
    profile = control()
    assert pace(profile, profile.loops["control"])[0] == [
        "when late, by 120 µs on average",
        "35.0 ms at most",
        "up to 3 missed in a row",
        "1 cut short",
    ]


def test_a_tick_is_divided_into_busy_time_slack_and_other_waits():
    sleep, camera = node("sleep", [4 * MS] * 10, wait=True), node("camera", [1 * MS] * 10, wait=True)
    profile, loop = loop_with(sleep, camera, waited_ns=50 * MS, hz=frozenset({100.0}))
    assert pace(profile, loop) == [
        ["5.00 ms busy per tick, 50% of the budget", "slack 40%", "other waits 10%"]
    ]
    without_a_rate = replace(loop, hz=frozenset())
    assert pace(profile, without_a_rate)[0][0] == "5.00 ms busy per tick"


def test_a_loop_that_only_waits_is_noted_and_a_working_section_called_sleep_is_no_wait():
    profile, loop = loop_with(node("sleep", [4 * MS] * 10), waited_ns=10 * MS)
    assert pace(profile, loop) == [["9.00 ms busy per tick", "waits 10%"]]


def test_each_sensor_has_its_age():
    names = ("sensor to action", "sensor to action: scene", "sensor to actionless")
    children = [node(name, [(20 + place) * MS] * 10) for place, name in enumerate(names)]
    assert pace(*loop_with(*children)) == [
        ["sensor to action 20.0 ms p50", "20.0 ms at most"],
        ["sensor to action: scene 21.0 ms p50", "21.0 ms at most"],
    ]


def test_names_of_sensors_cannot_move_the_cursor():
    [[age, _]] = pace(*loop_with(node("sensor to action: \x1b[2J", [MS] * 10)))
    assert age == r"sensor to action: \x1b[2J 1.00 ms p50"


def test_a_loop_without_ticks_has_no_notes():
    assert pace(Profile.empty(), Loop(path="x")) == []
