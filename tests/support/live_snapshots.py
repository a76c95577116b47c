"""The screen, in files for people to read.

`PYTHONPATH=tests python -m support.live_snapshots` writes the files again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from support import live_scenes as scenes
from ticktree.live.app import Board, Top
from ticktree.live.source import LiveReading
from ticktree.profile import Profile

FOLDER = Path(__file__).parents[1] / "live" / "snapshots"

Size = tuple[int, int]
NEVER_S = 3600.0  # the tests look when they say so


class Watcher:
    """A running app, and a hand on its keys."""

    def __init__(self, app: Top, pilot) -> None:
        self.app = app
        self.pilot = pilot

    async def settle(self) -> None:
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    async def look(self, times: int = 1) -> None:
        """Read once more, as the app does by itself when its time has come."""
        for _ in range(times):
            self.app.look()
            await self.settle()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    def lines(self) -> list[str]:
        board = self.app.query_one(Board)
        assert board.size == self.app.size
        strips = [board.render_line(y) for y in range(board.size.height)]
        assert all(strip.cell_length == board.size.width for strip in strips)
        return [strip.text.rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines())


@asynccontextmanager
async def watched(
    readings: Sequence[LiveReading], size: Size = (100, 30), source=None, **options
) -> Iterator[Watcher]:
    app = Top(source or scenes.Script(readings), **{"every_s": NEVER_S, "first_s": NEVER_S, **options})
    async with app.run_test(size=size) as pilot:
        watcher = Watcher(app, pilot)
        await watcher.settle()
        yield watcher


def watch(
    test: Callable[[Watcher], Awaitable[None]], readings: Sequence[LiveReading] = (), **options
) -> None:
    """Run a test with an app that has looked once."""

    async def run() -> None:
        async with watched(readings, **options) as watcher:
            await test(watcher)

    asyncio.run(run())


def slow() -> list[LiveReading]:
    return [replace(reading, took_ns=1_400 * scenes.MS) for reading in scenes.robot()]


def lost() -> list[LiveReading]:
    scene = scenes.running(None, 12, state="lost", running_ns=None, trouble="run.json is gone: \x1b[31m")
    return [*scenes.robot(), scene]


def saved() -> list[LiveReading]:
    return [scenes.running(scenes.robot()[-1].profile, 0, state="saved", name="robot.json", running_ns=None)]


def empty(state: str = "running") -> list[LiveReading]:
    return [scenes.running(Profile(), 1, state=state)]


# By name: the readings, the size of the terminal, how often is read after the first time, and the keys pressed then.
CASES: dict[str, tuple[Callable[[], list[LiveReading]], Size, int, Sequence[str]]] = {
    "first": (scenes.robot, (100, 30), 0, ()),
    "robot-40": (scenes.robot, (40, 14), 1, ()),
    "robot-80": (scenes.robot, (80, 24), 1, ()),
    "robot-120": (scenes.robot, (120, 30), 1, ()),
    "robot-tiny": (scenes.robot, (12, 4), 1, ()),
    "by-name": (scenes.robot, (80, 24), 1, ("s", "s", "s")),
    "by-p99": (scenes.robot, (80, 24), 1, ("s", "s")),
    "folded": (scenes.robot, (80, 24), 1, ("down", "down", "space")),
    "filtered": (scenes.robot, (80, 24), 1, ("slash", *"RES", "enter")),
    "typing": (scenes.robot, (80, 24), 1, ("slash", *"zz")),
    "paused": (scenes.robot, (80, 24), 1, ("p",)),
    "help": (scenes.robot, (80, 26), 1, ("question_mark",)),
    "slow": (slow, (80, 24), 1, ()),
    "ended": (scenes.ended, (100, 30), 3, ()),
    "killed": (lambda: scenes.ended(-9), (80, 24), 3, ()),
    "lost": (lost, (80, 24), 2, ()),
    "saved": (saved, (100, 30), 0, ()),
    "not-recording": (empty, (80, 10), 0, ()),
    "nothing-recorded": (lambda: empty("finished"), (80, 10), 0, ()),
    "hostile": (scenes.hostile, (90, 56), 1, ()),
    "unmarked": (scenes.unmarked_program, (80, 12), 1, ()),
    "many": (lambda: scenes.many(4000), (80, 24), 1, ("end",)),
    "focused": (scenes.focused, (100, 16), 1, ("down", "down", "down")),
    "processes-160": (scenes.trainer, (160, 16), 1, ()),
    "processes-80": (scenes.trainer, (80, 16), 1, ("w", "right_square_bracket")),
    "processes-many": (lambda: scenes.trainer(12), (120, 16), 1, ("w",)),
}

OPTIONS = {
    "nothing-recorded": {"explain": lambda _: "recording was never enabled"},
    "slow": {"every_s": 1.0},
}


async def rendered(name: str) -> str:
    """Return what the file `name` should hold."""
    readings, size, looks, keys = CASES[name]
    async with watched(readings(), size, **OPTIONS.get(name, {})) as watcher:
        await watcher.look(looks)
        await watcher.press(*keys)
        return watcher.text


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for case in CASES:
        (FOLDER / f"{case}.txt").write_text(asyncio.run(rendered(case)), encoding="utf-8")
