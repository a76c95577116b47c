"""Following a run to its end, and through what may go wrong on the way."""

from __future__ import annotations

import threading
from dataclasses import replace

from support import live_scenes as scenes
from support.live_snapshots import empty, lost, watch
from ticktree.profile import Profile


def test_the_screen_shows_the_end_and_keeps_the_last_state():
    async def test(watcher):
        await watcher.look(2)
        assert "running for" in watcher.text
        rates = [line for line in watcher.lines() if " /s" in line]
        await watcher.look()
        assert "run ended, exit status 0" in watcher.text
        rows = [line for line in watcher.lines() if " /s" in line]
        assert [line.split(" /s")[0] for line in rows] == [line.split(" /s")[0] for line in rates]
        assert "4,019" in watcher.text  # and what came after the last look is in it

    watch(test, scenes.ended(), size=(130, 30))


def test_nothing_is_read_after_the_end():
    class Ended:
        looks = 0

        def read(self):
            self.looks += 1
            return scenes.ended(3)[-1]

    source = Ended()

    async def test(watcher):
        await watcher.pilot.pause(0.3)
        assert source.looks == 1
        assert "run ended, exit status 3" in watcher.text

    watch(test, source=source, every_s=0.05, first_s=0.05)


def test_a_run_that_disappears_is_reported_and_its_last_rows_stay():
    async def test(watcher):
        await watcher.look(2)
        assert "cannot be read" in watcher.text
        assert "run.json is gone" in watcher.text
        assert "resize" in watcher.text

    watch(test, lost())


def test_a_run_that_can_be_read_again_continues():
    async def test(watcher):
        await watcher.look(2)
        assert "cannot be read" in watcher.text
        await watcher.look()
        assert "cannot be read" not in watcher.text
        assert "running for 73.0 s" in watcher.text

    watch(test, [*lost(), scenes.running(scenes.robot()[-1].profile, 13)])


def test_a_run_that_was_never_readable_says_why():
    async def test(watcher):
        assert "It could not be read yet." in watcher.text
        assert "it is damaged" in watcher.text

    watch(test, [scenes.running(None, 1, state="lost", trouble="it is damaged")])


def test_a_run_that_does_not_record_yet_is_watched_until_it_does():
    async def test(watcher):
        assert "no section was entered" in watcher.text
        await watcher.look()
        assert "resize" in watcher.text

    watch(test, [*empty(), scenes.robot()[-1]])


def test_a_reset_of_the_recording_does_not_stop_it():
    async def test(watcher):
        await watcher.look(2)
        assert "overall" in watcher.text
        assert "last" not in watcher.lines()[3]  # nothing is known of the seconds before the reset
        await watcher.look()
        assert any("last 1 s" in line for line in watcher.lines())

    old, new = scenes.Robot(), scenes.Robot()
    readings = [scenes.running(old.play(50), 1), scenes.running(old.play(50), 2)]
    watch(test, [*readings, scenes.running(new.play(10), 3), scenes.running(new.play(10), 4)])


def test_losses_are_on_the_screen():
    profile = replace(scenes.robot()[-1].profile, losses={"names_cut": 3})

    async def test(watcher):
        assert "Not recorded: 3 names cut" in watcher.text

    watch(test, [scenes.running(profile, 1)])


def test_keys_work_during_a_long_reading():
    class Slow:
        def __init__(self):
            self.may_end = threading.Event()

        def read(self):
            self.may_end.wait()
            return scenes.robot()[-1]

    source = Slow()

    async def run() -> None:
        from support.live_snapshots import NEVER_S, Watcher
        from ticktree.live.app import Top

        app = Top(source, every_s=NEVER_S, first_s=NEVER_S)
        async with app.run_test(size=(80, 24)) as pilot:
            watcher = Watcher(app, pilot)
            await watcher.press("question_mark")
            assert "these keys" in watcher.text
            source.may_end.set()
            await watcher.settle()
            await watcher.press("question_mark")
            assert "resize" in watcher.text

    import asyncio

    asyncio.run(run())


def test_it_reads_again_without_a_key_and_the_second_time_soon():
    arm = scenes.Robot()
    readings = [scenes.running(arm.play(10), at_s) for at_s in range(1, 40)]

    async def test(watcher):
        for _ in range(6000):
            if watcher.app.screen_state.latest.running_ns >= 64 * scenes.S:
                break
            await watcher.pilot.pause(0.05)
        assert "last" in watcher.text

    watch(test, readings, every_s=0.1, first_s=0.01)


def test_an_empty_finished_run_says_why_it_is_empty():
    async def test(watcher):
        assert "Nothing was recorded: it was off." in watcher.text

    watch(test, [scenes.running(Profile(), 1, state="finished")], explain=lambda _: "it was off")
