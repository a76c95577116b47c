"""Random trees of tasks on a real asyncio loop, on a virtual clock, against the reference."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ticktree
from support.recorder.call_stacks import CallStack
from support.recorder.comparison import assert_same
from support.recorder.reference import Reference
from support.recorder.virtual_event_loop import VirtualLoop
from support.thorough import thorough

few = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)
many = settings(few, max_examples=250)


@dataclass(frozen=True)
class Work:
    ns: int


@dataclass(frozen=True)
class Sleep:
    ns: int


@dataclass(frozen=True)
class Section:
    name: str
    body: tuple


@dataclass(frozen=True)
class Spawn:
    """How several bodies are run as tasks: all awaited together, one of them cancelled, or left to themselves."""

    start_kind: str
    bodies: tuple


@dataclass(frozen=True)
class Snapshot:
    pass


@dataclass(frozen=True)
class Thread:
    """`asyncio.to_thread`: works on another thread while this task waits."""

    body: tuple


times = st.integers(0, 40)
names = st.sampled_from("abc")
hows = ["gather", "cancel", "leave", "wait_for", "group"]


@st.composite
def steps(draw, depth):
    kinds = [
        "work",
        "sleep",
        "sleep",
        "snapshot",
        *(["section", "section", "spawn", "thread"] if depth else []),
    ]
    kind = draw(st.sampled_from(kinds))
    if kind in ("work", "sleep"):
        return {"work": Work, "sleep": Sleep}[kind](draw(times))
    if kind == "section":
        return Section(draw(names), draw(bodies(depth - 1)))
    if kind == "spawn":
        many_bodies = draw(st.lists(bodies(depth - 1), min_size=1, max_size=3))
        return Spawn(draw(st.sampled_from(hows)), tuple(many_bodies))
    if kind == "thread":
        return Thread(draw(bodies(0)))
    return Snapshot()


def bodies(depth):
    return st.lists(steps(depth), max_size=4).map(tuple)


class Waiting(ThreadPoolExecutor):
    """Lets nothing else run while its thread works: what happens when is then certain."""

    def submit(self, function, /, *args, **kwargs):
        future = super().submit(function, *args, **kwargs)
        wait([future])
        return future


class Performance:
    """One run of one program, on both recorders."""

    def __init__(self):
        self.recorder = ticktree.Recorder(virtual_clock=True)
        self.reference = Reference()
        self.reference.enable()
        self.loop = VirtualLoop(self.advance)
        self.loop.set_default_executor(Waiting(1))
        self.loose = []

    def advance(self, ns):
        self.recorder.advance(ns)
        self.reference.advance(ns)

    def compare(self):
        assert_same(self.recorder.snapshot(), self.reference)

    def run(self, program):
        try:
            self.loop.run_until_complete(self.main(program))
            self.compare()
        finally:
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            self.recorder.disable()
            self.reference.disable()

    async def main(self, program):
        """Itself a task, made where only the root is open."""
        await self.body(program, CallStack(self.reference, call=self.reference.root))
        await asyncio.gather(*self.loose, return_exceptions=True)

    async def body(self, body, stack):
        for step in body:
            if isinstance(step, Section):
                with self.recorder.section(step.name):
                    call = stack.enter(step.name)
                    try:
                        await self.body(step.body, stack)
                    finally:
                        stack.leave(call)
            elif isinstance(step, Sleep):
                await asyncio.sleep(step.ns / 1e9)
            elif isinstance(step, Spawn):
                await getattr(self, step.start_kind)(self.tasks(step.bodies, stack))
            elif isinstance(step, Thread):
                inner = CallStack(self.reference, path=stack.place()[1], thread=-1)
                await asyncio.to_thread(self.plain, step.body, inner)
            else:
                self.plain((step,), stack)

    def plain(self, body, stack):
        for step in body:
            if isinstance(step, Work):
                with self.recorder.section("work"):
                    call = stack.enter("work")
                    self.loop.move(step.ns)
                    stack.leave(call)
            elif isinstance(step, Snapshot):
                self.compare()

    def tasks(self, bodies, stack):
        call, path = stack.place()
        return [self.body(body, CallStack(self.reference, call=call, path=path)) for body in bodies]

    async def gather(self, coroutines):
        await asyncio.gather(*coroutines)

    async def group(self, coroutines):
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)

    async def cancel(self, coroutines):
        tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
        await asyncio.sleep(10e-9)
        tasks[0].cancel()
        for done in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(done, Exception):
                raise done

    async def wait_for(self, coroutines):
        tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(tasks[0]), 15e-9)
        self.loose.extend(tasks)

    async def leave(self, coroutines):
        """Nobody waits for them here: they may outlive what made them."""
        context = contextvars.copy_context()
        for index, coroutine in enumerate(coroutines):
            options = {"context": context} if index == 0 else {}
            self.loose.append(asyncio.get_running_loop().create_task(coroutine, **options))


@few
@given(bodies(4))
def test_random_tasks_give_the_accounts_of_the_reference(program):
    Performance().run(program)


@thorough
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_random_tasks_give_the_accounts_of_the_reference():
    many(given(bodies(4))(lambda program: Performance().run(program)))()
