from __future__ import annotations

import gc

import pytest

from support.recorder.queries import counts, losses, node, times


def loop(recorder, path="loop"):
    profile = recorder.snapshot()
    profile.check()
    return profile.loops[path]


def test_a_loop_without_an_iterable_counts_from_zero_and_never_ends(recorder):
    numbers = []
    for tick in recorder.loop("loop"):
        numbers.append(tick)
        if tick == 4:
            break
    assert numbers == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("iterable", [range(3), [0, 1, 2], (0, 1, 2), {0: 1, 1: 2, 2: 3}, iter([0, 1, 2])])
def test_a_loop_yields_the_items_of_its_iterable(recorder, iterable):
    assert list(recorder.loop("loop", iterable)) == [0, 1, 2]
    assert loop(recorder).ticks == 3
    assert losses(recorder) == {}


def test_every_trip_is_a_tick_and_sections_inside_nest_under_the_loop(recorder):
    for _ in recorder.loop("loop", range(5)):
        with recorder.section("step"):
            recorder.advance(3)
        recorder.advance(1)
    assert counts(recorder) == {"loop": 5, "loop/step": 5}
    assert times(recorder) == {"loop": 20, "loop/step": 15}
    loop_node = loop(recorder)
    assert (loop_node.ticks, loop_node.incomplete, loop_node.busy_ns) == (5, 0, 20)
    assert loop_node.hz == frozenset()
    assert (loop_node.lateness, loop_node.budget_ns) == (None, None)


def test_an_exhausted_iterable_begins_no_tick_that_counts(recorder):
    def items():
        for item in range(3):
            recorder.advance(10)
            yield item
        recorder.advance(7)

    for _ in recorder.loop("loop", items()):
        recorder.advance(1)
    loop_node = loop(recorder)
    assert (loop_node.ticks, loop_node.incomplete, loop_node.busy_ns) == (3, 0, 33)
    assert counts(recorder) == {"loop": 3, "loop/next": 3}
    assert times(recorder) == {"loop": 40, "loop/next": 37}  # looking for a fourth took time too
    assert losses(recorder) == {}


def test_an_empty_iterable_is_no_tick_at_all(recorder):
    for _ in recorder.loop("loop", []):
        pass
    assert not recorder.snapshot().loops
    assert losses(recorder) == {}


def test_taking_the_next_item_is_a_section_of_its_own(recorder):
    def items():
        for item in range(2):
            with recorder.section("decode"):
                recorder.advance(4)
            yield item

    for _ in recorder.loop("loop", items()):
        with recorder.section("use"):
            recorder.advance(1)
    assert times(recorder) == {"loop": 10, "loop/next": 8, "loop/next/decode": 8, "loop/use": 2}


def test_a_tick_cut_short_by_break_is_incomplete(recorder):
    with recorder.section("outer"):
        for tick in recorder.loop("loop", range(10)):
            recorder.advance(5)
            if tick == 2:
                break
        recorder.advance(100)
    loop_node = loop(recorder, "outer/loop")
    assert (loop_node.ticks, loop_node.incomplete, loop_node.busy_ns) == (2, 1, 10)
    assert node(recorder, "outer/loop").total_ns == 15
    assert node(recorder, "outer/loop").stats.max_ns == 5
    assert losses(recorder) == {}


def test_a_tick_cut_short_by_an_exception_is_incomplete(recorder):
    def fail():
        for _ in recorder.loop("loop", range(10)):
            with recorder.section("step"):
                recorder.advance(5)
                raise ValueError

    with pytest.raises(ValueError), recorder.section("outer"):
        fail()
    loop_node = loop(recorder, "outer/loop")
    assert (loop_node.ticks, loop_node.incomplete) == (0, 1)
    assert counts(recorder) == {"outer": 1, "outer/loop": 0, "outer/loop/step": 1}


def test_a_tick_cut_short_by_return_is_incomplete(recorder):
    def find():
        for tick in recorder.loop("loop", range(10)):
            if tick == 3:
                return tick
        return None

    assert find() == 3
    assert (loop(recorder).ticks, loop(recorder).incomplete) == (3, 1)


def test_a_loop_that_is_held_is_ended_by_the_section_around_it(recorder):
    with recorder.section("outer"):
        iterator = recorder.loop("loop", range(10))
        next(iterator)
        recorder.advance(5)
    recorder.advance(50)
    loop_node = loop(recorder, "outer/loop")
    assert (loop_node.ticks, loop_node.incomplete) == (0, 1)
    assert node(recorder, "outer/loop").total_ns == 5
    assert next(iterator) == 1  # and may continue elsewhere
    iterator.close()
    assert loop(recorder).incomplete == 1
    assert losses(recorder) == {}


def test_closing_a_loop_ends_its_tick_as_incomplete(recorder):
    iterator = recorder.loop("loop")
    next(iterator)
    next(iterator)
    iterator.close()
    iterator.close()
    assert (loop(recorder).ticks, loop(recorder).incomplete) == (1, 1)
    assert node(recorder, "loop").open is None


def test_a_loop_caught_in_a_reference_cycle_ends_when_it_is_collected(recorder):
    def abandon():
        iterator = recorder.loop("loop")
        next(iterator)
        cycle = [iterator]
        cycle.append(cycle)

    abandon()
    gc.collect()
    assert loop(recorder).incomplete == 1
    assert node(recorder, "loop").open is None


def test_an_iterable_that_raises_leaves_an_incomplete_tick(recorder):
    def items():
        yield 1
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        for _ in recorder.loop("loop", items()):
            pass
    assert (loop(recorder).ticks, loop(recorder).incomplete) == (1, 1)
    with recorder.section("after"):
        pass
    assert counts(recorder)["after"] == 1


def test_nested_loops_are_counted_each_for_itself(recorder):
    for _ in recorder.loop("episode", range(3)):
        for _ in recorder.loop("step", range(4)):
            recorder.advance(2)
        recorder.advance(1)
    assert counts(recorder) == {"episode": 3, "episode/step": 12}
    assert loop(recorder, "episode").busy_ns == 27
    assert loop(recorder, "episode/step").busy_ns == 24
    assert losses(recorder) == {}


def test_a_loop_run_again_at_the_same_position_is_the_same_loop(recorder):
    for _ in range(3):
        with recorder.section("episode"):
            for _ in recorder.loop("step", range(2)):
                recorder.advance(1)
    assert loop(recorder, "episode/step").ticks == 6


def test_a_loop_may_begin_in_one_function_and_continue_in_another(recorder):
    ticks = recorder.loop("loop")

    def step():
        next(ticks)
        with recorder.section("work"):
            recorder.advance(1)

    for _ in range(4):
        step()
    ticks.close()
    assert counts(recorder) == {"loop": 3, "loop/work": 4}
    assert losses(recorder) == {}


def test_a_section_left_open_across_a_boundary_is_unwound_and_counted(recorder):
    section = recorder.section("open")
    for _ in recorder.loop("loop", range(3)):
        section.__enter__()
        recorder.advance(1)
    assert losses(recorder) == {"unwound_sections": 3}
    assert counts(recorder) == {"loop": 3, "loop/open": 0}


def test_the_first_ticks_are_kept_in_order(recorder):
    for tick in recorder.loop("loop", range(100)):
        recorder.advance(tick + 1)
    assert loop(recorder).first_ticks.durations_ns == tuple(range(1, 65))


@pytest.mark.parametrize("hz", [0, -1, float("nan"), float("inf"), 5e-324, 1e-300])
def test_a_rate_must_be_positive(recorder, hz):
    with pytest.raises(ValueError, match="hz"):
        recorder.loop("loop", hz=hz)
    with pytest.raises(ValueError, match="hz"):
        recorder.tick("loop", hz)


def test_pace_needs_a_rate(recorder):
    with pytest.raises(ValueError, match="hz"):
        recorder.loop("loop", pace=True)
    with pytest.raises(TypeError):
        recorder.loop("loop", 7)


def test_boundaries_of_somebody_elses_loop_make_ticks(recorder):
    with recorder.section("main"):
        for _ in range(5):
            recorder.tick("env", hz=100)
            with recorder.section("step"):
                recorder.advance(1_000_000)
    loop_node = loop(recorder, "main/env")
    assert (loop_node.ticks, loop_node.incomplete) == (4, 1)  # the last was ended by the section around it
    assert loop_node.budget_ns == 10_000_000
    assert counts(recorder) == {"main": 1, "main/env": 4, "main/env/step": 5}
    assert losses(recorder) == {}


def test_stages_inside_a_tick_end_with_it(recorder):
    with recorder.section("main"):
        for _ in range(3):
            recorder.tick("env")
            recorder.stage("observe")
            recorder.advance(1)
            recorder.stage("act")
            recorder.advance(2)
    assert counts(recorder) == {"main": 1, "main/env": 2, "main/env/observe": 3, "main/env/act": 3}
    assert times(recorder) == {"main": 9, "main/env": 9, "main/env/observe": 3, "main/env/act": 6}
    assert losses(recorder) == {}


def test_a_boundary_in_a_function_called_in_the_loop_is_the_same_loops(recorder):
    def callback():
        recorder.tick("env")
        recorder.advance(2)

    with recorder.section("learn"):
        for _ in range(4):
            callback()
    assert counts(recorder) == {"learn": 1, "learn/env": 3}


def test_a_boundary_inside_a_section_begins_a_loop_of_that_section(recorder):
    with recorder.section("main"):
        recorder.tick("env")
        with recorder.section("inner"):
            recorder.tick("env")
            recorder.tick("env")
        recorder.tick("env")
    assert counts(recorder) == {"main": 1, "main/env": 1, "main/env/inner": 1, "main/env/inner/env": 1}
