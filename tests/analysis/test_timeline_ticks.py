"""Ticks on a timeline: they are missed by the rule of the recorder, and have its numbers."""

from __future__ import annotations

import asyncio
import random
import threading

import numpy as np
import pytest

import ticktree
from ticktree.analysis.timeline_ticks import TimelineTicks, ticks_of
from ticktree.outputs.html.events import pack_timeline
from ticktree.outputs.tracks import tracks_of
from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline, merge_equal_nodes


def found_of(profile: Profile, timeline: Timeline) -> list[TimelineTicks]:
    return list(ticks_of(profile, timeline, [(each.lane, each.calls) for each in tracks_of(timeline)]))


def found_in(recorder: ticktree.Recorder) -> tuple[Profile, Timeline, dict[str, TimelineTicks]]:
    profile, timeline = recorder.snapshot(), recorder.timeline()
    ticks = {timeline.nodes[each.node].path: each for each in found_of(profile, timeline)}
    return profile, timeline, ticks


def play(recorder: ticktree.Recorder, dice: random.Random, depth: int = 0) -> None:
    """Work, waits, sections and loops in each other, drawn by lot."""
    for _ in range(dice.randrange(4)):
        what = "work" if depth == 3 else dice.choice(["work", "wait", "section", "loop"])
        if what == "work":
            recorder.advance(dice.randrange(4_000_000))
        elif what == "loop":
            for _ in recorder.loop("inner", range(2), hz=500, warmup=0):
                play(recorder, dice, depth + 1)
        else:
            with recorder.section(what, wait=what == "wait"):
                recorder.advance(dice.randrange(4_000_000))
                play(recorder, dice, depth + 1)


@pytest.mark.parametrize("seed", range(20))
def test_ticks_are_missed_by_the_rule_of_the_recorder(seed):
    dice = random.Random(seed)
    recorder = ticktree.Recorder(virtual_clock=True, timeline=100_000)
    for _ in recorder.loop("control", range(80), hz=100, warmup=dice.choice([0, 7])):
        play(recorder, dice)
    profile, _, found = found_in(recorder)
    assert found.keys() == profile.loops.keys()
    for path, ticks in found.items():
        loop = profile.loops[path]
        late = (np.count_nonzero(ticks.late_ns), ticks.late_ns.sum(), ticks.late_ns.max())
        assert late == (loop.missed, loop.lateness.sum_ns, loop.lateness.max_ns)
        assert ticks.first == 0


def test_ticks_have_their_numbers_where_earlier_ones_were_overwritten():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=300)
    for tick in recorder.loop("control", range(1000), hz=100, warmup=0):
        with recorder.section("camera", wait=True):
            recorder.advance(3_000_000)
        recorder.advance(14_000_000 if tick in (400, 990) else 6_000_000)
    _, timeline, found = found_in(recorder)
    ticks = found["control"]
    assert timeline.overwritten
    assert ticks.first == 1000 - len(ticks.late_ns)
    assert {ticks.first + at: late for at, late in enumerate(ticks.late_ns) if late} == {990: 4_000_000}


def test_no_tick_that_may_be_warm_up_is_marked_as_missed():
    """Of the loop, only the sum of the threads' warm-ups is known."""
    recorder = ticktree.Recorder(virtual_clock=True, timeline=1000)
    dice = random.Random(3)
    # A thread that ended would hand its nodes to the next one.
    ended, turns = threading.Event(), [threading.Event() for _ in range(3)]

    def drive(warmup: int, turn: threading.Event) -> None:
        for _ in recorder.loop("drive", range(30), hz=100, warmup=warmup):
            recorder.advance(dice.randrange(8_000_000, 13_000_000))
        turn.set()
        ended.wait()

    threads = [threading.Thread(target=drive, args=each) for each in zip((4, 0, 9), turns, strict=True)]
    for thread, turn in zip(threads, turns, strict=True):
        thread.start()
        turn.wait()
    ended.set()
    for thread in threads:
        thread.join()
    profile, timeline = recorder.snapshot(), merge_equal_nodes(recorder.timeline())
    ticks = found_of(profile, timeline)
    loop = profile.loops["drive"]
    assert loop.warmup_ticks == 13
    assert [each.first for each in ticks] == [0, 0, 0]
    assert 0 < sum(np.count_nonzero(each.late_ns) for each in ticks) <= loop.missed
    facts, _ = pack_timeline(recorder.timeline(), profile)
    assert [tuple(each) for each in facts["ticks"]] == [(each.track, each.node, 0, 30) for each in ticks]
    assert not any(each.late_ns[:13].any() for each in ticks)


def test_tasks_that_take_turns_have_no_numbers_and_their_own_misses():
    recorder = ticktree.Recorder(virtual_clock=True, timeline=1000)

    async def agent(busy_ns: int) -> None:
        for _ in recorder.loop("agent", range(10), hz=100, warmup=0):
            recorder.advance(busy_ns)
            with recorder.section("reply", wait=True):
                await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(agent(4_000_000), agent(12_000_000))

    asyncio.run(main())
    profile, timeline = recorder.snapshot(), recorder.timeline()
    ticks = found_of(profile, timeline)
    assert [each.first for each in ticks] == [None, None]
    assert [np.count_nonzero(each.late_ns) for each in ticks] == [0, 10]
    assert profile.loops["agent"].missed == 10
