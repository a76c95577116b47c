"""Budgets, misses, lateness, jitter and the worst ticks, against a direct calculation."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from support.recorder.queries import losses
from ticktree.profile import Histogram, Jitter

MS = 1_000_000


def play(durations, *, hz=None, warmup=0, waits=None):
    """Returns the record of a loop with these tick durations and waits."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for index in recorder.loop("loop", range(len(durations)), hz=hz, warmup=warmup):
        waited = waits[index] if waits else 0
        with recorder.section("wait", wait=True):
            recorder.advance(waited)
        recorder.advance(durations[index] - waited)
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    return profile


def longest_run(missed):
    longest = run = 0
    for miss in missed:
        run = run + 1 if miss else 0
        longest = max(longest, run)
    return longest


def test_a_tick_over_its_budget_is_missed_and_late_by_the_rest():
    loop = play([9 * MS, 11 * MS, 10 * MS, 15 * MS, 12 * MS], hz=100).loops["loop"]
    assert loop.budget_ns == 10 * MS
    assert (loop.missed, loop.longest_miss_run) == (3, 2)
    assert (loop.lateness.sum_ns, loop.lateness.max_ns) == (8 * MS, 5 * MS)


def test_waits_do_not_count_against_the_budget():
    loop = play([20 * MS] * 3, hz=100, waits=[10 * MS, 9 * MS, 20 * MS]).loops["loop"]
    assert loop.missed == 1


def test_a_wait_inside_a_wait_counts_once():
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("loop", range(1), hz=100):
        with recorder.section("outer", wait=True), recorder.section("inner", wait=True):
            recorder.advance(8 * MS)
        recorder.advance(11 * MS)
    assert recorder.snapshot().loops["loop"].missed == 1
    recorder.disable()


def test_work_inside_a_wait_is_waited_for():
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("loop", range(1), hz=100):
        with recorder.section("server", wait=True), recorder.section("compute"):
            recorder.advance(50 * MS)
    assert recorder.snapshot().loops["loop"].missed == 0
    recorder.disable()


def test_waits_in_an_inner_loops_tick_count_for_the_outer_loop_too():
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("outer", range(1), hz=100):
        for _ in recorder.loop("inner", range(2)):
            with recorder.section("wait", wait=True):
                recorder.advance(8 * MS)
    assert recorder.snapshot().loops["outer"].missed == 0
    recorder.disable()


def test_tasks_that_wait_at_the_same_time_are_waited_for_once():
    import asyncio

    recorder = ticktree.Recorder(virtual_clock=True)

    async def wait():
        with recorder.section("wait", wait=True):
            recorder.advance(30 * MS)
            await asyncio.sleep(0)

    async def main():
        for _ in recorder.loop("loop", range(1), hz=20):
            await asyncio.gather(wait(), wait())
            recorder.advance(55 * MS)

    asyncio.run(main())
    assert recorder.snapshot().loops["loop"].missed == 1
    recorder.disable()


def test_several_rates_give_no_budget():
    recorder = ticktree.Recorder(virtual_clock=True)
    for hz in (10, 20):
        for _ in recorder.loop("loop", range(2), hz=hz):
            recorder.advance(200 * MS)
    loop = recorder.snapshot().loops["loop"]
    assert loop.budget_ns is None
    assert loop.ticks == 4
    recorder.disable()


def test_an_incomplete_tick_is_neither_missed_nor_compared_with():
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in range(2):
        for tick in recorder.loop("loop", hz=100):
            recorder.advance((20 if tick == 2 else 5) * MS)
            if tick == 2:
                break
    loop = recorder.snapshot().loops["loop"]
    assert (loop.ticks, loop.incomplete, loop.missed) == (4, 2, 0)
    assert (loop.jitter.count, loop.jitter.sum_ns) == (2, 0)
    recorder.disable()


durations = st.lists(st.integers(0, 20).map(lambda units: units * MS), max_size=40)


@settings(deadline=None, max_examples=60)
@given(durations, st.integers(0, 10))
def test_any_sequence_of_ticks_gives_the_figures_of_the_definition(ticks, warmup):
    profile = play(ticks, hz=100, warmup=warmup)
    if not ticks:
        assert not profile.loops
        return
    loop = profile.loops["loop"]
    warm = warmup if len(ticks) > warmup else 0
    steady = ticks[warm:]
    late = [tick - 10 * MS for tick in steady]
    assert (loop.ticks, loop.warmup_ticks) == (len(ticks), warm)
    assert loop.busy_ns == sum(ticks)
    assert loop.first_ticks.durations_ns == tuple(ticks)
    assert loop.missed == sum(item > 0 for item in late)
    assert loop.longest_miss_run == longest_run([item > 0 for item in late])
    assert loop.lateness.sum_ns == sum(item for item in late if item > 0)
    assert loop.lateness.max_ns == max([0, *late])
    steps = [abs(after - before) for before, after in pairwise(steady)]
    assert loop.jitter == (Jitter(len(steps), sum(steps), Histogram.of(steps)) if steps else None)
    assert loop.lateness.histogram == Histogram.of(item for item in late if item > 0)
    missed = sum(tick for tick in steady if tick > 10 * MS)
    assert (loop.waited_ns, loop.missed_ns) == (0, missed)
    assert sum(loop.missed_breakdown.values()) == 0  # the section "wait" of no time
    worst = [(tick.duration_ns, tick.tick) for tick in loop.worst]
    assert [duration for duration, _ in worst] == sorted(steady, reverse=True)[:8]
    assert all(ticks[index] == duration for duration, index in worst)
    assert (loop.stats.count, loop.stats.sum_ns) == (len(steady), sum(steady))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_the_breakdown_of_a_worst_tick_sums_the_sections_in_it(ticks):
    recorder = ticktree.Recorder(virtual_clock=True)
    for index in recorder.loop("outer", range(len(ticks))):
        self_ns, section, inner = ticks[index]
        recorder.advance(self_ns)
        for _ in range(2):
            with recorder.section("section"), recorder.section("part"):
                recorder.advance(section)
        for _ in recorder.loop("inner", range(inner)):
            with recorder.section("deep"):
                recorder.advance(3)
    profile = recorder.snapshot()
    recorder.disable()
    for worst in profile.loops["outer"].worst:
        self_ns, section, inner = ticks[worst.tick]
        assert worst.duration_ns == self_ns + 2 * section + 3 * inner
        # A nested loop is one row: what is inside it is broken down in its own worst ticks.
        expected = {"outer/section": 2 * section, "outer/section/part": 2 * section}
        expected |= {"outer/inner": 3 * inner} if inner else {}
        assert {path: ns for path, ns in worst.breakdown.items() if path != "outer/inner" or ns} == expected
    inner = profile.loops.get("outer/inner")  # without a tick there is no such loop
    for worst in inner.worst if inner else ():
        assert worst.breakdown == {"outer/inner/deep": 3}


def test_a_worst_tick_has_its_start_and_its_causes():
    recorder = ticktree.Recorder(virtual_clock=True)
    recorder.advance(5 * MS)
    for tick in recorder.loop("loop", range(3)):
        recorder.advance(MS)
        if tick == 1:
            recorder.gc_pause(True)
            recorder.advance(7 * MS)
            recorder.gc_pause(False)
    worst = recorder.snapshot().loops["loop"].worst[0]
    assert (worst.tick, worst.started_ns, worst.duration_ns) == (1, 6 * MS, 8 * MS)
    assert worst.causes["gc_ns"] == 7 * MS
    assert losses(recorder) == {}
    recorder.disable()


@pytest.mark.parametrize("rows", [5, 60])
def test_a_breakdown_keeps_the_largest_rows_where_there_are_many(rows):
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("loop", range(1)):
        for row in range(rows):
            with recorder.section(f"section {row}"):
                recorder.advance(row + 1)
    (worst,) = recorder.snapshot().loops["loop"].worst
    sums = sorted(worst.breakdown.values())
    assert sums == list(range(max(1, rows - 29), rows + 1))
    recorder.disable()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=30),
    st.integers(0, 6),
)
def test_missed_ticks_are_broken_down_by_section(ticks, warmup):
    recorder = ticktree.Recorder(virtual_clock=True)
    for self_ns, section, waited in recorder.loop("loop", ticks, hz=1e8, warmup=warmup):  # 10 ns
        recorder.advance(self_ns)
        with recorder.section("section"), recorder.section("part"):
            recorder.advance(section)
        with recorder.section("wait", wait=True):
            recorder.advance(waited)
    recorder.disable()
    profile = recorder.snapshot()
    profile.check()
    loop = profile.loops["loop"]
    steady = ticks[warmup:] if len(ticks) > warmup else ticks
    missed = [tick for tick in steady if tick[0] + tick[1] > 10]
    inside = sum(section for _, section, _ in missed)
    expected = {"loop/section": inside, "loop/section/part": inside, "loop/wait": sum(w for *_, w in missed)}
    assert loop.missed_breakdown == {path: ns for path, ns in expected.items() if ns}
    assert (loop.missed, loop.missed_ns) == (len(missed), sum(map(sum, missed)))
    assert loop.waited_ns == sum(waited for *_, waited in steady)


@pytest.mark.parametrize("sections", [10, 400])
def test_missed_ticks_of_any_number_of_sections_are_broken_down_whole(sections):
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("loop", range(6), hz=1e8, warmup=0):
        for item in range(sections):
            if tick % 2 or item % 3:
                with recorder.section(f"section {item}"):
                    recorder.advance(item)
    loop = recorder.snapshot().loops["loop"]
    expected = {f"loop/section {item}": item * (6 if item % 3 else 3) for item in range(1, sections)}
    assert loop.missed == 6
    assert loop.missed_breakdown == expected
    recorder.disable()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_causes_are_added_up_over_all_ticks_and_over_missed_ones():
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("loop", range(9), hz=100, warmup=3):
        recorder.advance(5 * MS)
        recorder.gc_pause(True)
        recorder.advance((8 if tick in (1, 4, 6) else 2) * MS)
        recorder.gc_pause(False)
    loop = recorder.snapshot().loops["loop"]
    assert (loop.missed, loop.causes.ticks, loop.missed_causes.ticks) == (2, 6, 2)
    assert (loop.causes.gc_ns, loop.missed_causes.gc_ns) == (24 * MS, 16 * MS)
    recorder.disable()


def test_collections_are_added_up_over_ticks_too_short_for_other_causes():
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("loop", range(100)):
        recorder.advance(10_000)
        if tick % 10 == 9:
            recorder.gc_pause(True)
            recorder.advance(200_000 if tick == 99 else 20_000)
            recorder.gc_pause(False)
    loop = recorder.snapshot().loops["loop"]
    assert (loop.causes.gc_ns, loop.stats.sum_ns) == (
        9 * 20_000 + 200_000,
        100 * 10_000 + 9 * 20_000 + 200_000,
    )
    recorder.disable()


def test_a_reset_clears_all_sums():
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("loop", range(6), hz=100, warmup=0):
        with recorder.section("step"):
            recorder.advance((20 if tick < 4 else 15) * MS)
        if tick == 3:
            recorder.reset()
    loop = recorder.snapshot().loops["loop"]
    assert (loop.ticks, loop.missed, loop.missed_ns) == (3, 2, 30 * MS)  # one that began again
    assert loop.missed_breakdown == {"loop/step": 30 * MS}
    assert loop.lateness.histogram == Histogram.of([5 * MS] * 2)
    recorder.disable()
