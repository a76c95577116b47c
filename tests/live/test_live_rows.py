"""The tree's rows: sorted, filtered, folded, and truthful about the last seconds."""

from __future__ import annotations

import re

import pytest

import ticktree
from support import live_scenes as scenes
from ticktree.live import columns
from ticktree.live.difference import Span, difference
from ticktree.live.rows import row_index, rows_of
from ticktree.live.view import LiveView
from ticktree.profile import Profile

MS = 1_000_000
S = 1_000_000_000


@pytest.fixture(scope="module")
def robot():
    earlier, later = (reading.profile for reading in scenes.robot())
    return later, Span(difference(earlier, later), 10 * S)


def names(profile, span, **view) -> list[str]:
    return [row.guide + row.name for row in rows_of(profile, span, LiveView(**view))]


def test_siblings_are_sorted_by_the_last_seconds_and_not_by_the_whole_run():
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("early"):
        recorder.advance(900 * MS)
    before = recorder.snapshot()
    with recorder.section("late"):
        recorder.advance(5 * MS)
    after = recorder.snapshot()
    assert names(after, Span(difference(before, after), S)) == ["late", "early"]
    assert names(after, None) == ["early", "late"]


def test_each_order_sorts_by_its_quantity():
    recorder = ticktree.Recorder(virtual_clock=True)
    for name, calls, each_ms in (("often", 50, 1), ("long", 2, 40), ("at times long", 30, 3)):
        for call in range(calls):
            with recorder.section(name):
                recorder.advance((90 if name == "at times long" and not call else each_ms) * MS)
    profile = recorder.snapshot()
    span = Span(profile, S)
    assert names(profile, span, order="share") == ["at times long", "long", "often"]
    assert names(profile, span, order="rate") == ["often", "at times long", "long"]
    assert names(profile, span, order="p99") == ["at times long", "long", "often"]
    assert names(profile, span, order="name") == ["at times long", "long", "often"]


def test_self_time_is_always_the_last_row(robot):
    profile, span = robot
    for order in ("share", "rate", "p99", "name"):
        rows = rows_of(profile, span, LiveView(order=order))
        own = [row for row in rows if row.kind == "self"]
        assert [row.path for row in own] == [
            row.path for row in sorted(own, key=lambda row: -row.path.count("/"))
        ]
        assert {row.path for row in own} == {"control", "control/observe", "control/plan"}


def test_times_of_the_rows_below_a_node_sum_to_its_time(robot):
    profile, span = robot
    rows = rows_of(profile, span, LiveView())
    below = [row for row in rows if row.guide in ("├─ ", "└─ ")]
    control = next(row for row in rows if row.path == "control" and row.is_section)
    assert sum(row.total_ns for row in below) == control.total_ns
    assert sum(row.recent_ns for row in below) == control.recent_ns


def test_a_folded_node_shows_the_number_of_hidden_nodes(robot):
    profile, span = robot
    rows = rows_of(profile, span, LiveView(folded=frozenset({"control"})))
    assert [(row.name, row.folded) for row in rows] == [("control", 6)]


def test_a_filter_shows_matches_and_their_ancestors_and_ignores_case(robot):
    profile, span = robot
    rows = rows_of(profile, span, LiveView(filter="SOL"))
    assert [(row.name, row.is_match) for row in rows] == [
        ("control", False),
        ("plan", False),
        ("solve", True),
    ]
    assert rows_of(profile, span, LiveView(filter="nowhere")) == []


def test_a_filter_finds_names_as_they_are_shown():
    profile = scenes.hostile()[0].profile
    assert names(profile, None, filter="x1b") == ["\\x1b[31mred"]
    assert names(profile, None, filter="日本") == ["日本語のセクション"]
    assert names(profile, None, filter="a/b") == ["a/b"]


def test_a_section_that_is_open_longer_than_the_window_is_marked():
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("stuck"):
        recorder.advance(2 * S)
        before = recorder.snapshot()
        recorder.advance(S)
        after = recorder.snapshot()
    (row,) = rows_of(after, Span(difference(before, after), S), LiveView())
    assert row.mark == "open for 3.00 s"
    assert row.recent_ns == S


def test_device_time_that_outlasts_the_call_is_no_part_of_it():
    recorder = ticktree.Recorder(virtual_clock=True)
    for took_ns in (30, 5):
        with recorder.section("update"):
            recorder.advance(10)
            recorder.book(recorder.place(), ("cuda:0",), took_ns, "device")
            recorder.book(recorder.place(), ("cuda:1",), 5, "device")
    rows = {row.path: row for row in rows_of(recorder.snapshot(), None, LiveView())}
    assert rows["update/cuda:0@device"].base_ns == 0
    assert rows["update/cuda:1@device"].base_ns == 20
    assert rows["update/cuda:1@device"].mark == "device clock"


def test_nothing_recorded_has_no_rows():
    assert rows_of(Profile(), None, LiveView()) == []


def test_a_very_deep_tree_has_its_rows():
    recorder = ticktree.Recorder(virtual_clock=True)
    opened = [recorder.section(f"level {depth}") for depth in range(250)]
    for section in opened:
        section.__enter__()
        recorder.advance(1)
    rows = rows_of(recorder.snapshot(), None, LiveView())
    assert sum(row.is_section for row in rows) == 250
    for section in reversed(opened):
        section.__exit__(None, None, None)


def test_the_cursor_stays_on_its_row_or_goes_to_its_nearest_ancestor(robot):
    profile, span = robot
    solve = ("control/plan/solve", "section")
    rows = rows_of(profile, span, LiveView(order="name"))
    assert rows[row_index(rows, solve)].name == "solve"
    folded = rows_of(profile, span, LiveView(folded=frozenset({"control/plan"})))
    assert folded[row_index(folded, solve)].name == "plan"
    assert row_index(folded, ("gone", "section")) == 0


def test_calls_under_focus_have_short_names_and_match_by_full_names():
    profile = scenes.focused()[-1].profile
    rows = {row.name: row for row in rows_of(profile, None, LiveView()) if row.is_section}
    first, second, *acts = rows
    assert (first, second) == ("Driver.step", "Environment.step")
    assert [re.sub(r" @ L\d+", "", act) for act in acts] == [
        "Environment._act …(action / 2)",
        "Environment._act …(action)",
    ]
    assert rows["Environment.step"].full_name == "self._env.step(action) | Environment.step : drive.py @ L31"
    for letters in ("drive.py @ l31", "environment.step"):
        matched = [row.name for row in rows_of(profile, None, LiveView(filter=letters)) if row.is_match]
        assert "Environment.step" in matched
    assert names(profile, None, filter="action / 2")[-1].endswith("action / 2)")
    assert all(not row.full_name for row in rows_of(scenes.robot()[-1].profile, None, LiveView()))


def test_the_programs_own_gauges_come_before_the_machines():
    recorder = ticktree.Recorder(virtual_clock=True)
    for name in ("machine/used", "reward", "machine/others", "policy loss"):
        recorder.gauge(name, 1)
    gauges = columns.watched_gauges(recorder.snapshot(), None)
    assert [gauge.run.name for gauge in gauges] == ["policy loss", "reward", "machine/others", "machine/used"]
