from __future__ import annotations

import pytest
from hypothesis import given, settings

from support.profile_strategies import profiles
from support.virtual_programs import MS, Program, with_node
from ticktree.analysis import Settings
from ticktree.analysis.bottlenecks import bottlenecks, category_shares
from ticktree.analysis.context import Context
from ticktree.analysis.finding import Weights
from ticktree.profile import Memory


def ranked(program_or_profile, **options):
    profile = program_or_profile.profile() if isinstance(program_or_profile, Program) else program_or_profile
    return Context(profile, Settings(**options)).bottlenecks


def by_name(found):
    return {one.section.node.name: one for one in found}


def loop_of(*sections, ticks=5, **options) -> Program:
    """A loop whose ticks consist of sections (name, milliseconds, options)."""
    program = Program()
    for _ in program.loop("loop", range(ticks), **options):
        for name, ms, *rest in sections:
            program.work(name, ms, **(rest[0] if rest else {}))
    return program


def test_the_section_with_most_self_time_is_first_and_its_ceiling_is_amdahls():
    first, second = ranked(loop_of(("small", 25), ("large", 20), ("x", 0)))
    assert [first.section.node.name, second.section.node.name] == ["small", "large"]
    assert first.share == pytest.approx(25 / 45)
    assert first.saving.hz == pytest.approx(1000 / 45)
    assert first.saving.free_hz == pytest.approx(50)
    assert first.saving.speedup == pytest.approx(45 / 20)
    assert first.saving.share == pytest.approx(25 / 45)


def test_a_parent_is_ranked_by_its_self_time():
    program = Program()
    for _ in program.loop("loop", range(3)):
        with program.section("update"):
            program.take(1)
            program.work("forward", 9)
    found = by_name(ranked(program))
    assert found["update"].share == pytest.approx(0.1)
    assert found["forward"].share == pytest.approx(0.9)
    assert "loop" not in found  # it has no time of its own


def test_the_time_per_call_counts_several_calls_in_a_tick():
    program = loop_of(("a", 5), ("a", 5), ("b", 2))
    assert by_name(ranked(program))["a"].call_ns == 5 * MS


def test_a_section_that_fills_the_tick_has_no_rate_without_it():
    (only,) = ranked(loop_of(("all", 5)))
    assert (only.saving.free_hz, only.saving.speedup) == (None, None)


def test_a_loop_that_holds_its_rate_would_only_sleep_longer():
    found = by_name(ranked(loop_of(("act", 4), ("sleep", 6, {"wait": True}), hz=100)))
    assert found["act"].saving.hz == pytest.approx(250)  # what it could do without its sleep
    assert found["act"].saving.share == 0
    assert found["sleep"].saving is None
    assert found["sleep"].score is None


def test_a_loop_that_sleeps_but_misses_its_rate_gains_the_missing_part():
    found = by_name(ranked(loop_of(("act", 12), ("sleep", 1, {"wait": True}), hz=100)))
    assert found["act"].saving.share == pytest.approx(3 / 13)  # a tick of 13 ms, where 10 would do


def test_other_waits_have_a_ceiling_and_no_score():
    found = by_name(ranked(loop_of(("receive", 6, {"wait": True}), ("learn", 4))))
    assert found["receive"].saving.speedup == pytest.approx(2.5)
    assert found["receive"].score is None
    assert found["learn"].score is not None


def test_concurrent_sections_come_last_and_have_no_ceiling():
    program = Program()
    for _ in program.loop("loop", range(3)):
        program.record_duration("server", 0.5)
        program.work("act", 5)
    act, server = ranked(program)
    assert (act.section.node.name, server.section.node.name) == ("act", "server")
    assert server.saving is None
    assert server.score is None
    assert server.call_ns == 500 * MS


def test_the_cost_of_ticktree_is_in_no_bottleneck():
    profile = loop_of(("act", 6), ("look", 4)).profile()
    profile = with_node(profile, "loop/act", recorder_ns=25 * MS)  # 5 of the 6 ms of each call
    act = by_name(ranked(profile))["act"]
    assert act.section.self_ns == 1 * MS
    assert act.saving.speedup == pytest.approx(10 / 9)
    (view,) = Context(profile).loops
    assert view.recorder_ns == 5 * MS


def scores(profile, **weights):
    return {name: one.score for name, one in by_name(ranked(profile, weights=Weights(**weights))).items()}


def test_a_score_weighs_the_share_of_the_tick_and_the_call_against_the_longest():
    profile = loop_of(("long", 60), *[("short", 5)] * 8).profile()
    assert scores(profile)["long"] == pytest.approx(100 * (0.4 * 0.6 + 0.3 * 1) / 0.7)
    assert scores(profile)["short"] == pytest.approx(100 * (0.4 * 0.4 + 0.3 * 5 / 60) / 0.7)


def test_unmeasured_parts_are_left_out_of_the_score():
    profile = loop_of(("a", 50), ("b", 50)).profile()
    measured = with_node(profile, "loop/a", memory=Memory(5, 0, 900, growth_bytes=0))
    assert scores(measured)["a"] == pytest.approx(100 * (0.4 * 0.5 + 0.3 * 1 + 0.15 * 0) / 0.85)
    assert scores(measured)["b"] == pytest.approx(100 * (0.4 * 0.5 + 0.3 * 1) / 0.7)
    unknown = with_node(profile, "loop/a", memory=Memory(5, 0, 900))  # only the process's own peak is known
    assert scores(unknown) == scores(profile)


def test_memory_counts_relative_to_the_maximum():
    profile = loop_of(("a", 50), ("b", 50)).profile()
    profile = with_node(profile, "loop/a", memory=Memory(5, 0, 900, growth_bytes=400))
    profile = with_node(
        profile,
        "loop/b",
        memory=Memory(5, 0, 900, growth_bytes=100),
        device_memory=Memory(5, 0, 70, growth_bytes=70, devices=frozenset({"cuda:0"})),
    )
    assert scores(profile)["a"] == pytest.approx(100 * (0.4 * 0.5 + 0.3 + 0.15) / 0.85)
    assert scores(profile)["b"] == pytest.approx(100 * (0.4 * 0.5 + 0.3 + 0.15 * 0.25 + 0.15 * 1))


def test_only_the_ratios_of_weights_matter():
    profile = loop_of(("a", 75), ("b", 25)).profile()
    assert scores(profile, time=2, call=0, memory=0, device_memory=0) == {
        "a": pytest.approx(75),
        "b": pytest.approx(25),
    }
    assert scores(profile, time=0, call=0, memory=1, device_memory=0) == {"a": None, "b": None}


def test_categories_sum_to_the_tick_and_other_is_last():
    program = loop_of(("x", 8), ("env", 2), ("render", 3), ("draw", 1), ("sleep", 6, {"wait": True}))
    (view,) = Context(program.profile()).loops
    found = [(one.name, one.ns / MS, one.sections) for one in category_shares(view)]
    assert found == [("waiting", 6, 1), ("rendering", 4, 2), ("environment", 2, 1), ("other", 8, 1)]


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles())
def test_shares_sum_to_one_for_any_profile(profile):
    context = Context(profile)
    for view in context.loops:
        found = bottlenecks(view, Weights())
        assert [one.view is view for one in found].count(False) == 0
        of_tick = sum(one.share for one in found if not one.section.is_parallel)
        unseen = sum(section.self_ns for section in view.sections if section.is_parallel) / view.tick_ns
        assert of_tick + unseen + view.recorder_ns / view.tick_ns == pytest.approx(1)
        by_category = sum(one.share for one in category_shares(view))
        assert by_category + view.recorder_ns / view.tick_ns == pytest.approx(1)
        for one in found:
            assert one.saving is None or 0 <= one.saving.share <= 1 + 1e-9
            assert one.score is None or 0 <= one.score <= 100 + 1e-6
            assert one.saving is None or one.saving.speedup is None or one.saving.speedup >= 1
