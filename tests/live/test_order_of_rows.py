"""One order of the loops everywhere, and rows that stay where they are while somebody reads them."""

from __future__ import annotations

import json
import random
import re

import pytest

import ticktree
from support import live_scenes as scenes
from support.live_snapshots import watch
from ticktree.analysis.context import Context
from ticktree.live import columns
from ticktree.live.difference import Span
from ticktree.live.rows import rows_of, siblings_of
from ticktree.live.view import LiveView
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.notebook import html
from ticktree.outputs.view.build import report_view

MS = 1_000_000
S = 1_000_000_000
CAMERAS = ("camera 1", "camera 2", "camera 3")
NAMES = [
    "control",
    "camera 1",
    "camera 2",
    "camera 3",
]  # the one that misses, then those that are alike, by name


class Robot:
    """Three cameras that hold 30 Hz, and a control loop that does not; the order in which they run is chance.

    A virtual clock has one thread: the loops run one after another, each with a period of its own.
    """

    def __init__(self, seed: int) -> None:
        self.recorder = ticktree.Recorder(virtual_clock=True)
        self.random = random.Random(seed)

    def play(self, ticks: int):
        for name in self.random.sample(NAMES, len(NAMES)):
            for _ in self.recorder.loop(name, range(ticks), hz=30, warmup=0):
                self._tick(name)
        return self.recorder.snapshot()

    def _tick(self, name: str) -> None:
        work_ms = self.random.choice((5, 60)) if name == "control" else 4 + 0.5 * CAMERAS.index(name)
        work_ns = round(work_ms * self.random.uniform(0.98, 1.02) * MS)
        with self.recorder.section("work"):
            self.recorder.advance(work_ns)
        with self.recorder.section("sleep", wait=True):
            self.recorder.advance(max(0, round(S / 30) - work_ns))


def order_in(text: str) -> list[str]:
    """The loops in the order in which they are named first, from the table of loops on."""
    table = text[re.search(r"(?i)\bloops?\b", text).start() :]
    return sorted(NAMES, key=lambda name: table.index(name))


def order_in_top(profile) -> list[str]:
    found = []

    async def test(watcher):
        found.extend(order_in(watcher.text))

    watch(test, [scenes.running(profile, 1, state="finished", exit_status=0)], size=(120, 40))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_five_runs_of_a_robot_have_the_same_loops_in_the_same_order_everywhere(seed):
    profile = Robot(seed).play(60)
    assert [loop.path for loop in Context(profile).all_loops] == NAMES
    for form in ("terminal", "markdown", "text"):
        assert order_in(OUTPUTS[form].render(profile, ViewOptions(width=120)).decode()) == NAMES, form
    page = report_view(Context(profile), ViewOptions(all=True)).to_dict()
    assert [row["path"] for row in page["loops"]["rows"]] == NAMES
    agent = json.loads(OUTPUTS["agent"].render(profile))
    assert [row[0] for row in agent["loops"]["rows"]] == NAMES
    assert order_in(html(profile).partition("</style>")[2]) == NAMES
    assert order_in_top(profile) == NAMES


def test_top_keeps_its_order_while_similar_loops_run():
    robot = Robot(7)
    readings = [scenes.running(robot.play(30), at_s) for at_s in range(1, 9)]
    orders, trees = [], []

    async def test(watcher):
        for _ in range(len(readings)):
            lines = watcher.lines()
            orders.append(order_in("\n".join(lines)))
            tree = lines[max(at for at, line in enumerate(lines) if "share" in line) :]
            trees.append([name for line in tree for name in NAMES if line.startswith(name)])
            await watcher.look()

    watch(test, readings, size=(140, 40))
    assert {tuple(order) for order in orders} == {tuple(NAMES)}
    assert {tuple(tree) for tree in trees} == {tuple(NAMES)}


def test_a_loop_that_begins_to_miss_comes_first_and_the_others_stay():
    recorder = ticktree.Recorder(virtual_clock=True)

    def play(name: str, work_ms: float, ticks: int = 20):
        for _ in recorder.loop(name, range(ticks), hz=100, warmup=0):
            recorder.advance(round(work_ms * MS))
        return recorder.snapshot()

    play("a", 3)
    first = play("b", 2)
    order = [loop.run.path for loop in columns.watched_loops(Context(first), None)]
    assert order == ["a", "b"]
    busier = play("b", 5)
    assert [loop.run.path for loop in columns.watched_loops(Context(busier), None, order)] == ["a", "b"]
    assert [loop.run.path for loop in columns.watched_loops(Context(busier), None)] == ["b", "a"]
    play("c", 1)
    late = play("b", 20)
    assert [loop.run.path for loop in columns.watched_loops(Context(late), None, order)] == ["b", "a", "c"]


def test_a_loop_that_misses_is_visible_on_a_small_terminal():
    robot = Robot(3)
    readings = [scenes.running(robot.play(30), 1), scenes.running(robot.play(30), 11)]

    async def test(watcher):
        await watcher.look()
        lines = watcher.lines()
        at = next(at for at, line in enumerate(lines) if line.startswith("loops"))
        assert lines[at + 1].startswith("control")

    watch(test, readings, size=(80, 18))


def test_similar_rows_stay_and_a_row_that_grows_much_moves():
    def names(at_ms: dict[str, float], siblings=None) -> list[str]:
        recorder = ticktree.Recorder(virtual_clock=True)
        for name, ms in at_ms.items():
            with recorder.section(name):
                recorder.advance(round(ms * MS))
        profile = recorder.snapshot()
        rows = rows_of(profile, Span(profile, S), LiveView(siblings=siblings or {}))
        return siblings_of(rows)[""]

    first = names({"a": 100, "b": 95, "c": 10})
    assert first == ["a", "b", "c"]
    assert names({"a": 100, "b": 110, "c": 10}, {"": first}) == ["a", "b", "c"]
    assert names({"a": 100, "b": 130, "c": 10}, {"": first}) == ["b", "a", "c"]
    assert names({"a": 100, "b": 110, "c": 10, "d": 300}, {"": first}) == ["d", "b", "a", "c"]
    assert names({"a": 100, "b": 110, "c": 10, "d": 1}, {"": first}) == ["a", "b", "c", "d"]


def test_the_pace_equals_that_of_the_report():
    profile = Robot(1).play(60)
    table = report_view(Context(profile), ViewOptions()).loops
    titles = [head.title for head in table.heads]
    reported = {entry.path: dict(zip(titles, entry.cells, strict=True)) for entry in table.entries}
    columns_by_title = {column.title: column for column in columns.loop_columns(None)}
    for loop in columns.watched_loops(Context(profile), None):
        for title in ("pace", "headroom", "missed", "max"):
            assert columns_by_title[title].text(loop) == reported[loop.run.path][title]
