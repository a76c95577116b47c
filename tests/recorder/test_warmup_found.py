"""The end of warm-up, detected from a loop's own first ticks: against the rule in Python, and by cases."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import ticktree
from support.recorder.queries import node
from support.recorder.warmup_rule import LOOKS, CloseCallError, set_aside
from ticktree.profile import Histogram, Stats

MS = 1_000_000


def record(durations, *, hz=None, waited=None, warmup=None):
    """Returns the profile of a loop with these tick durations and waits."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick, duration in recorder.loop("loop", list(enumerate(durations)), hz=hz, warmup=warmup):
        wait = waited[tick] if waited else 0
        if wait:
            with recorder.section("wait", wait=True):
                recorder.advance(wait)
        with recorder.section("work"):
            recorder.advance(duration - wait)
    recorder.disable()
    profile = recorder.snapshot()
    profile.check()
    return profile


def warmup_ticks(durations, **options):
    """How many ticks were set aside."""
    return record(durations, **options).loops["loop"].warmup_ticks


def scattered(count, mean=10 * MS, part=0.05, seed=1):
    """Ticks that scatter around their mean by this part of it."""
    dice = random.Random(seed)
    return [round(mean * (1 + part * dice.gauss(0, 1))) for _ in range(count)]


# -- against the rule ------------------------------------------------------------------------------------------------


def clearly_set_aside(durations, waited=None):
    """The rule's result, without examples where rounding decides."""
    try:
        return set_aside(durations, waited)
    except CloseCallError:
        return reject()


steps = st.lists(st.integers(0, 2000), min_size=1, max_size=280)
warm_ups = st.lists(st.integers(0, 10**7), max_size=20)
slow = st.tuples(st.integers(0, 210), st.sampled_from([0, 1000, 5000, 10**6]))


@settings(deadline=None, max_examples=200)
@given(warm_ups, steps, slow, st.sampled_from([0, 1000, 10**6]))
def test_it_ends_where_the_rule_says(first, rest, longer, base):
    count, extra = longer
    ticks = [base + tick + extra * (index < count) for index, tick in enumerate(first + rest)]
    assert warmup_ticks(ticks) == clearly_set_aside(ticks)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 3000)), min_size=1, max_size=70))
def test_of_a_loop_that_waits_its_work_is_looked_at_as_well(ticks):
    durations, waited = [work + wait for work, wait in ticks], [wait for _, wait in ticks]
    assert warmup_ticks(durations, waited=waited) == clearly_set_aside(durations, waited)


@given(st.lists(st.integers(2**50, 2**53), min_size=64, max_size=64))
@settings(deadline=None, max_examples=30)
def test_ticks_of_months_overflow_nothing(ticks):
    assert warmup_ticks(ticks) in (0, *LOOKS)


# -- the cases -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Ticks, and between how many of them are to be set aside."""

    ticks: list
    minimum: int
    maximum: int


def multiplied(ticks, factors):
    return [round(tick * factors.get(index, 1)) for index, tick in enumerate(ticks)]


CASES = {
    "compiling in the first tick": Case(multiplied(scattered(20), {0: 300}), 1, 4),
    "compiling in the first three ticks": Case(multiplied(scattered(20), {0: 300, 1: 300, 2: 300}), 4, 5),
    "compiling again for a second shape": Case(multiplied(scattered(20), {0: 300, 2: 200}), 4, 8),
    "tuning for each of three shapes": Case(multiplied(scattered(64), {0: 20, 7: 20, 15: 20}), 16, 32),
    "compiling, then twenty slow ticks": Case(
        multiplied(scattered(100), {0: 300, **dict.fromkeys(range(1, 20), 3)}), 20, 25
    ),
    "caches that fill over tens of ticks": Case(
        [round(tick * (1 + 0.5 * 0.9**index)) for index, tick in enumerate(scattered(100))], 8, 40
    ),
    "sinking to a third over tens of ticks": Case(
        [round(tick * (1 + 2 * 0.9**index)) for index, tick in enumerate(scattered(200))], 20, 50
    ),
    "short ticks before there is anything to learn from": Case(
        multiplied(scattered(64), dict.fromkeys(range(10), 0.1)), 18, 20
    ),
    "no warm-up": Case(scattered(300), 0, 0),
    "no warm-up, much scatter": Case(scattered(300, part=0.2), 0, 0),
    "ticks that are all the same": Case([10 * MS] * 300, 0, 0),
    "ticks of no time": Case([0] * 300, 0, 0),
    "a learner that learns at every fourth step": Case(
        multiplied(scattered(300, part=0.02), dict.fromkeys(range(3, 300, 4), 3)), 0, 0
    ),
    "a learner that learns at every hundredth step": Case(
        multiplied(scattered(300, part=0.02), dict.fromkeys(range(99, 300, 100), 30)), 0, 0
    ),
    "a learner that learns at every second step": Case([10, 30] * 150, 0, 0),
    "a single pause in the middle": Case(multiplied(scattered(64), {20: 8}), 0, 0),
    "twice as slow from tick 100 on": Case(
        multiplied(scattered(300), dict.fromkeys(range(100, 300), 2)), 0, 0
    ),
    "drift of less than anybody looks for": Case([1000 - index // 4 for index in range(300)], 0, 0),
    "three ticks are too few to tell": Case([3000 * MS, 10 * MS, 10 * MS], 0, 0),
}


@pytest.mark.parametrize("times", [2, 3, 30])
@pytest.mark.parametrize("count", [5, 6, 7, 8, 10, 13, 20, 30, 50, 64, 77, 100, 128, 150, 200])
def test_its_length_is_right_within_a_quarter(count, times):
    ticks = multiplied(scattered(400, part=0.005, seed=count), dict.fromkeys(range(count), times))
    assert count <= warmup_ticks(ticks) <= 1.25 * count


@pytest.mark.parametrize("count", [8, 13, 20, 30, 50, 100, 200])
def test_so_it_nearly_always_is_amid_scatter(count):
    lengths = [
        warmup_ticks(multiplied(scattered(400, seed=seed), dict.fromkeys(range(count), 2)))
        for seed in range(20)
    ]
    assert sum(count <= length <= 1.25 * count for length in lengths) >= 19


def test_what_comes_and_goes_is_at_most_taken_for_one_once():
    """A loop that skips its update at every n-th tick begins as a warm-up of n - 1 ticks would."""
    for every in (4, 5, 6, 7, 10, 20, 50):
        ticks = multiplied(scattered(300, part=0.02), dict.fromkeys(range(every - 1, 300, every), 0.3))
        assert warmup_ticks(ticks) <= 8


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_set_aside_in_each_case(case):
    assert case.minimum <= warmup_ticks(case.ticks) <= case.maximum


def test_a_loop_that_keeps_pace_warms_up_in_its_work():
    work = multiplied(scattered(40), dict.fromkeys(range(3), 2.2))
    waited = [33 * MS - item for item in work]
    assert warmup_ticks([33 * MS] * 40) == 0
    assert 4 <= warmup_ticks([33 * MS] * 40, waited=waited, hz=30) <= 8


def test_scatter_alone_is_hardly_ever_taken_for_warm_up():
    alarms = sum(warmup_ticks(scattered(300, seed=seed)) > 0 for seed in range(100))
    assert alarms <= 2  # MSER alone: 85 to 88


# -- what becomes of it ----------------------------------------------------------------------------------------------


def test_the_steady_phase_is_exact_and_the_whole_run_stays_whole():
    ticks = [3000 * MS, *([10 * MS] * 3), *([11 * MS, 9 * MS] * 8)]
    profile = record(ticks)
    loop = profile.loops["loop"]
    assert (loop.ticks, loop.warmup_ticks) == (20, 4)
    for path in ("loop", "loop/work"):
        loop_node = profile.root.at(path)
        assert loop_node.steady == Stats.of(ticks[4:])
        assert loop_node.warmup == Stats.of(ticks[:4])
        assert loop_node.total_ns == sum(ticks)
    assert loop.first_ticks.durations_ns == tuple(ticks)


def test_what_was_set_aside_twice_adds_up():
    ticks = [3000 * MS, *([30 * MS] * 11), *([10 * MS] * 28)]
    profile = record(ticks, hz=50)
    loop = profile.loops["loop"]
    assert loop.warmup_ticks == set_aside(ticks) == 14
    assert profile.root.at("loop/work").warmup == Stats.of(ticks[:14])
    assert (loop.missed, loop.longest_miss_run, loop.missed_ns) == (0, 0, 0)
    assert (loop.lateness.sum_ns, loop.lateness.histogram, loop.missed_breakdown) == (0, Histogram(), {})
    assert (loop.jitter.count, loop.jitter.histogram) == (25, Histogram({0: 25}))
    assert {worst.duration_ns for worst in loop.worst} == {10 * MS}


def test_boundaries_of_somebody_elses_loop_warm_up_too(recorder):
    with recorder.section("main"):
        for tick in range(21):
            recorder.tick("env")
            recorder.advance((500 if tick == 0 else 10) * MS)
    assert recorder.snapshot().loops["main/env"].warmup_ticks == 4


def test_the_warm_up_of_somebody_elses_loop_may_be_said(recorder):
    for name, warmup in (("none", 0), ("two", 2)):
        with recorder.section("main"):
            for tick in range(21):
                recorder.tick(name, warmup=warmup)
                recorder.advance((500 if tick == 0 else 10) * MS)
        assert recorder.snapshot().loops[f"main/{name}"].warmup_ticks == warmup


def test_what_is_said_by_hand_holds():
    ticks = [500 * MS, *([10 * MS] * 20)]
    assert warmup_ticks(ticks) == 4
    assert warmup_ticks(ticks, warmup=0) == 0
    assert warmup_ticks(ticks, warmup=1) == 1


def test_loops_inside_begin_their_steady_phase_with_the_loop_around_them(recorder):
    for episode in recorder.loop("episode", range(10)):
        for _ in recorder.loop("step", range(5), hz=100, warmup=0):
            recorder.advance((400 if episode == 0 else 11) * MS)
    profile = recorder.snapshot()
    assert profile.loops["episode"].warmup_ticks == 4
    step = profile.loops["episode/step"]
    assert (step.ticks, step.warmup_ticks, step.stats.count) == (50, 20, 30)
    assert (step.missed, step.missed_ns, step.lateness.max_ns) == (30, 330 * MS, MS)
    assert step.stats.max_ns == node(recorder, "episode/step").steady.max_ns == 11 * MS


def test_after_a_reset_it_is_looked_for_again(recorder):
    for tick in recorder.loop("loop", range(30)):
        recorder.advance((500 if tick in (0, 10) else 10) * MS)
        if tick == 9:
            recorder.reset()
    loop = recorder.snapshot().loops["loop"]
    assert (loop.ticks, loop.warmup_ticks) == (21, 7)  # the tick that was open at the reset counts from there


def test_ticks_cut_short_are_none_of_the_first_ticks(recorder):
    for episode in range(4):
        for tick in recorder.loop("step", range(9)):
            recorder.advance((500 if (episode, tick) == (0, 0) else 10) * MS)
            if tick == 2:
                break
    loop = recorder.snapshot().loops["step"]
    assert (loop.ticks, loop.incomplete, loop.warmup_ticks) == (8, 4, 4)


# -- a loop that ends where its warm-up does -------------------------------------------------------------------------

COMPILED = [3000 * MS, 10 * MS, 10 * MS, 10 * MS]


def test_of_a_loop_that_ends_with_its_warm_up_all_ticks_are_steady():
    profile = record(COMPILED, hz=50)
    loop, work = profile.loops["loop"], profile.root.at("loop/work")
    assert (loop.ticks, loop.warmup_ticks, loop.missed) == (4, 0, 1)
    assert loop.lateness is not None
    assert loop.lateness.sum_ns == 2980 * MS
    assert [tick.duration_ns for tick in loop.worst] == sorted(COMPILED, reverse=True)
    for stats in (loop.stats, work.steady):
        assert (stats.count, stats.sum_ns, stats.min_ns, stats.max_ns) == (
            4,
            sum(COMPILED),
            10 * MS,
            3000 * MS,
        )
        assert stats.histogram.count == 4
    assert work.warmup is None


def test_the_next_tick_is_the_first_steady_one():
    profile = record([*COMPILED, 11 * MS], hz=50)
    loop, work = profile.loops["loop"], profile.root.at("loop/work")
    assert (loop.ticks, loop.warmup_ticks, loop.missed) == (5, 4, 0)
    assert [tick.duration_ns for tick in loop.worst] == [11 * MS]
    assert (work.steady.count, work.steady.sum_ns, work.warmup.count) == (1, 11 * MS, 4)


@pytest.mark.parametrize(("hz", "steady"), [(None, 4), (50, 0)])
def test_until_the_tick_after_them_completes_they_are_all_that_is_known(hz, steady):
    """But of a loop with a rate, whose misses were forgotten: none is made up."""
    recorder = ticktree.Recorder(virtual_clock=True)

    def fails_in_the_fifth():
        for duration in recorder.loop("loop", [*COMPILED, 0], hz=hz):
            with recorder.section("work"):
                recorder.advance(duration)
            if not duration:
                raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fails_in_the_fifth()
    recorder.disable()
    profile = recorder.snapshot()
    profile.check()
    loop, work = profile.loops["loop"], profile.root.at("loop/work")
    assert (loop.ticks, loop.warmup_ticks, loop.stats.count) == (4, 4 - steady, steady)
    assert loop.stats.histogram.count == steady
    assert work.steady.count == steady + 1
    assert (work.warmup is None) == bool(steady)


def test_what_fetches_the_next_item_does_not_end_the_warm_up():
    recorder = ticktree.Recorder(virtual_clock=True)

    def batches():
        for duration in COMPILED:
            recorder.advance(5 * MS)
            yield duration
        recorder.advance(5 * MS)

    for duration in recorder.loop("loop", batches()):
        with recorder.section("work"):
            recorder.advance(duration)
    recorder.disable()
    profile = recorder.snapshot()
    profile.check()
    assert (profile.loops["loop"].warmup_ticks, profile.loops["loop"].stats.count) == (0, 4)
    assert profile.root.at("loop/work").warmup is None


def test_of_the_first_steady_tick_its_fetching_is_steady_too():
    recorder = ticktree.Recorder(virtual_clock=True)
    for duration in recorder.loop("loop", iter([*COMPILED, 11 * MS])):
        with recorder.section("work"):
            recorder.advance(duration)
    recorder.disable()
    loop = recorder.snapshot().root.at("loop")
    assert {name: (node.warmup.count, node.steady.count) for name, node in loop.children.items()} == {
        "next": (4, 1),
        "work": (4, 1),
    }


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.lists(st.integers(0, 10**6), max_size=12), min_size=1, max_size=24),
    st.integers(1, 24),
    st.sampled_from([0, 10**7, 10**9]),
)
def test_loops_in_loops_are_steady_or_warm_up_as_a_whole(episodes, slow, longer):
    recorder = ticktree.Recorder(virtual_clock=True)
    for episode, steps in enumerate(recorder.loop("train", episodes)):
        for duration in recorder.loop("step", steps):
            with recorder.section("act"):
                recorder.advance(duration)
        with recorder.section("learn"):
            recorder.advance(100 + longer * (episode < slow))
    recorder.disable()
    profile = recorder.snapshot()
    profile.check()
    train = profile.loops["train"]
    assert train.stats.count > 0
    learn = profile.root.at("train/learn")
    assert learn.steady.count == train.stats.count
    assert learn.count == train.ticks == len(episodes)
    step = profile.loops.get("train/step")
    if step is None:
        return
    act = profile.root.at("train/step/act")
    assert act.count == step.ticks == sum(map(len, episodes))
    if not step.warmup_ticks or not train.warmup_ticks:
        assert act.steady.count == step.stats.count
