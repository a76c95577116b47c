"""The wait time of a tick: the time in which any wait begun in it was open, against a direct calculation."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree

BUDGET = 10  # ns
HZ = 1e9 / BUDGET


@dataclass
class Tick:
    """A tick, and the waits begun in it as [begun, ended or None]."""

    start: int
    waits: list[list] = field(default_factory=list)

    def late(self, end_ns: int) -> int:
        """How far over its budget it worked; 0 or less where it was not."""
        waited = set()
        for begin, end in self.waits:
            waited.update(range(begin, min(end_ns, end_ns if end is None else end)))
        return end_ns - self.start - len(waited) - BUDGET


class Model:
    """Two loops, one inside the other, moment by moment."""

    def __init__(self) -> None:
        self.now = 0
        self.open: list[Tick] = []
        self.late = {"outer": [], "inner": []}
        self.waits: dict[int, list] = {}

    def end(self, depth: int, *, completed: bool) -> None:
        while len(self.open) > depth:
            tick = self.open.pop()
            if completed and len(self.open) == depth:
                self.late["outer" if depth == 0 else "inner"].append(tick.late(self.now))

    def begin(self, depth: int) -> None:
        self.end(depth, completed=True)
        self.open.append(Tick(self.now))

    def wait(self, index: int) -> None:
        self.waits[index] = [self.now, None]
        for tick in self.open:
            tick.waits.append(self.waits[index])


steps = st.one_of(
    st.tuples(st.just("advance"), st.integers(0, 15)),
    st.tuples(st.just("wait"), st.integers(0, 2)),
    st.tuples(st.just("done"), st.integers(0, 2)),
    st.tuples(st.just("nested"), st.integers(0, 8)),
    st.tuples(st.just("inner"), st.just(0)),
    st.tuples(st.just("inner"), st.just(0)),
    st.tuples(st.just("outer"), st.just(0)),
)


def waiting(recorder):
    with recorder.section("wait", wait=True):
        yield


def play(program, recorder, model):
    open_waits = {}
    recorder.tick("outer", HZ, warmup=0)
    model.begin(0)
    for action, value in program:
        if action == "advance":
            recorder.advance(value)
            model.now += value
        elif action == "wait" and value not in open_waits:
            open_waits[value] = waiting(recorder)
            next(open_waits[value])
            model.wait(value)
        elif action == "done" and value in open_waits:
            open_waits.pop(value).close()
            model.waits.pop(value)[1] = model.now
        elif action == "nested":
            model.wait(99)
            with recorder.section("wait", wait=True), recorder.section("wait", wait=True):
                recorder.advance(value)
            model.now += value
            model.waits.pop(99)[1] = model.now
        elif action == "inner":
            recorder.tick("inner", HZ, warmup=0)
            model.begin(1)
        elif action == "outer":
            recorder.tick("outer", HZ, warmup=0)
            model.begin(0)
    return open_waits


@settings(deadline=None, max_examples=300)
@given(st.lists(steps, max_size=30))
def test_any_order_of_waits_and_ticks_gives_the_misses_of_the_definition(program):
    recorder, model = ticktree.Recorder(virtual_clock=True), Model()
    with recorder.section("main"):
        open_loop = play(program, recorder, model)
    for generator in open_loop.values():
        generator.close()
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    for path, name in (("main/outer", "outer"), ("main/outer/inner", "inner")):
        if path in profile.loops:
            late = [ns for ns in model.late[name] if ns > 0]
            loop = profile.loops[path]
            assert (loop.ticks, loop.missed) == (len(model.late[name]), len(late)), path
            assert (loop.lateness.sum_ns, loop.lateness.max_ns) == (sum(late), max(late, default=0)), path


def test_a_wait_that_outlives_its_tick_is_waited_for_as_long_as_the_tick_lasts():
    recorder = ticktree.Recorder(virtual_clock=True)
    sections = []
    for _ in recorder.loop("loop", range(2), hz=HZ, warmup=0):
        recorder.advance(5)
        sections.append(waiting(recorder))
        next(sections[-1])
        recorder.advance(100)
    assert recorder.snapshot().loops["loop"].missed == 0
    for generator in sections:
        generator.close()
    recorder.disable()


def test_a_wait_that_outlives_an_inner_tick_ends_for_the_outer_one_too():
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("main"):
        recorder.tick("outer", HZ, warmup=0)
        recorder.tick("inner", warmup=0)
        sections = waiting(recorder)
        next(sections)
        recorder.advance(3)
        recorder.tick("inner", warmup=0)
        sections.close()
        recorder.advance(100)
        recorder.tick("outer", HZ, warmup=0)
    loop = recorder.snapshot().loops["main/outer"]
    assert (loop.missed, loop.lateness.sum_ns) == (1, 100 - BUDGET)
    recorder.disable()
