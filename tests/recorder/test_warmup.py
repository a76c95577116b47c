"""When warm-up ends, the counts so far are set aside: the steady phase is exact, and the whole run stays complete."""

from __future__ import annotations

from support.recorder.queries import node
from ticktree.profile import Stats


def test_the_steady_phase_has_extremes_and_percentiles_of_its_own(recorder):
    for tick in recorder.loop("loop", range(10), warmup=3):
        with recorder.section("step"):
            recorder.advance(1000 if tick < 3 else 10 + tick)
    loop = recorder.snapshot().loops["loop"]
    assert (loop.ticks, loop.warmup_ticks, loop.stats.count) == (10, 3, 7)
    assert (loop.stats.min_ns, loop.stats.max_ns) == (13, 19)
    for path in ("loop", "loop/step"):
        loop_node = node(recorder, path)
        assert loop_node.steady == Stats.of(10 + tick for tick in range(3, 10))
        assert loop_node.warmup == Stats.of([1000] * 3)
        assert (loop_node.count, loop_node.stats.max_ns, loop_node.total_ns) == (10, 1000, 3112)


def test_the_worst_ticks_and_misses_are_those_of_the_steady_phase(recorder):
    for tick in recorder.loop("loop", range(20), hz=1e6, warmup=5):
        recorder.advance(9000 if tick < 5 else 2000 if tick == 7 else 500)
    loop = recorder.snapshot().loops["loop"]
    assert loop.missed == 1
    assert [worst.tick for worst in loop.worst[:1]] == [7]
    assert {worst.duration_ns for worst in loop.worst} == {2000, 500}
    assert loop.jitter.sum_ns == 3000
    assert loop.jitter.count == 14  # the first steady tick is compared with none of the warm-up


def test_sections_outside_the_loop_have_no_phase(recorder):
    with recorder.section("before"):
        recorder.advance(1)
    with recorder.section("outer"):
        for _ in recorder.loop("loop", range(4), warmup=2):
            recorder.advance(1)
    assert node(recorder, "before").warmup is None
    assert node(recorder, "outer").warmup is None
    assert node(recorder, "outer/loop").warmup is not None


def test_a_section_first_met_after_warm_up_has_no_phase_of_its_own(recorder):
    for tick in recorder.loop("loop", range(4), warmup=2):
        if tick >= 2:
            with recorder.section("late"):
                recorder.advance(1)
    assert node(recorder, "loop/late").warmup is None
    assert node(recorder, "loop/late").steady.count == 2


def test_a_loop_warms_up_once_however_often_it_is_run(recorder):
    for episode in range(3):
        for tick in recorder.loop("step", range(5), warmup=7):
            recorder.advance(100 if (episode, tick) < (1, 2) else 1)
    loop = recorder.snapshot().loops["step"]
    assert (loop.ticks, loop.warmup_ticks) == (15, 7)
    assert (loop.stats.min_ns, loop.stats.max_ns) == (1, 1)


def test_a_loop_that_ends_in_its_warm_up_has_no_steady_phase_yet(recorder):
    for _ in recorder.loop("loop", range(4), warmup=10):
        recorder.advance(1)
    loop = recorder.snapshot().loops["loop"]
    assert (loop.warmup_ticks, loop.stats.count) == (0, 4)


def test_an_incomplete_tick_is_no_tick_of_the_warm_up(recorder):
    for _ in range(4):
        for tick in recorder.loop("loop", range(3), warmup=3):
            recorder.advance(1)
            if tick == 1:
                break
    loop = recorder.snapshot().loops["loop"]
    assert (loop.ticks, loop.incomplete, loop.warmup_ticks) == (4, 4, 3)


def test_ticks_cut_short_in_the_warm_up_are_counted_all_the_same(recorder):
    for tick in recorder.loop("loop", range(9), warmup=9):
        if tick == 2:
            break
    loop = recorder.snapshot().loops["loop"]
    assert (loop.incomplete, loop.warmup_ticks) == (1, 0)


def test_the_warm_up_of_an_inner_loop_ends_by_itself(recorder):
    for outer in recorder.loop("outer", range(4), warmup=2):
        for _ in recorder.loop("inner", range(3), warmup=1):
            recorder.advance(50 if outer < 2 else 1)
    profile = recorder.snapshot()
    assert profile.loops["outer"].warmup_ticks == 2
    assert profile.root.at("outer/inner").steady == Stats.of([1] * 6)
    assert profile.root.at("outer/inner").warmup == Stats.of([50] * 6)


def test_calls_open_when_warm_up_ends_are_counted_where_they_end(recorder):
    section = recorder.section("across")
    generator = hold_sections(recorder, section)
    for tick in recorder.loop("loop", range(4), warmup=2):
        recorder.advance(10)
        if tick == 1:
            next(generator)
        if tick == 3:
            next(generator, None)
    loop_node = node(recorder, "loop/across")
    assert loop_node.steady == Stats.of([20])
    assert loop_node.warmup is None or loop_node.warmup.count == 0


def hold_sections(recorder, section):
    with section:
        yield


def test_more_warm_up_may_be_asked_for_while_it_lasts(recorder):
    for _ in recorder.loop("loop", range(2), warmup=3):
        recorder.advance(1)
    for _ in recorder.loop("loop", range(8), warmup=6):
        recorder.advance(1)
    for _ in recorder.loop("loop", range(8), warmup=16):
        recorder.advance(1)
    loop = recorder.snapshot().loops["loop"]
    assert (loop.ticks, loop.warmup_ticks) == (18, 6)
