"""The steps of a random program without a body, or with a body that runs elsewhere."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import ticktree
from support.recorder import programs as p
from support.recorder.call_stacks import CallStack
from support.recorder.comparison import assert_same
from support.recorder.reference import Reference
from support.recorder.threads import Lane
from ticktree.recorder._native import origins
from ticktree.run.reading.image import Image


class BoomError(Exception):
    """What programs raise."""


class BrokenOffError(BoomError):
    """A `break` on its way to its loop."""


class Suspended:
    """A generator or a task, to be resumed.

    Args:
        frames: What runs.
        stack: Its calls.
        run: How it is run: in which context.
    """

    def __init__(self, frames: Iterator[None], stack: CallStack, run: Callable[..., Any]) -> None:
        self.frames, self.stack, self.run = frames, stack, run
        self.busy = False

    def resume(self, consumer: CallStack) -> None:
        """Runs on until it is suspended again; does nothing where it is running or has ended."""
        self._do(lambda: next(self.frames, None), consumer)

    def close(self, consumer: CallStack) -> None:
        """Ends it where it is."""
        self._do(self.frames.close, consumer)

    def _do(self, action: Callable[[], Any], consumer: CallStack) -> None:
        if self.busy:
            return
        self.busy = True
        if self.stack.is_generator:
            self.stack.consumer = consumer
        try:
            self.run(action)
        finally:
            self.busy = False


class Actor:
    """What a performance consists of; `Player` adds the steps that hold others."""

    body: Callable[[p.Body, CallStack], None]
    frames: Callable[[p.Body, CallStack], Iterator[None]]

    def __init__(self, program: p.Program) -> None:
        self.program = program
        caps = program.caps
        self.recorder = ticktree.Recorder.__new__(ticktree.Recorder, virtual_clock=True)
        self.recorder.open(node_cap=caps.nodes, name_cap=caps.names, depth_cap=caps.depth)
        self.recorder.enable()
        self.reference = Reference(caps.nodes, caps.names, caps.depth)
        self.reference.enable()
        self.main = CallStack(self.reference, is_main=True)
        self.lanes: list[Lane] = []
        self.steps = 0
        self.timed: dict[str, Callable[..., None]] = {}
        self.executor: ThreadPoolExecutor | None = None

    def act(self, step: p.Step, stack: CallStack) -> None:
        """Plays one step; those that are possible in some stacks only do nothing in others."""
        getattr(self, f"act_{type(step).__name__.lower()}")(step, stack)

    def compare(self) -> None:
        """Both recorders must say the same of this moment."""
        assert_same(self.recorder.snapshot(), self.reference)
        frames = Image(self.recorder.image()).open_frames()
        assert len(frames) == self.reference.open_calls(), "calls are open that are over, or the reverse"

    def end(self) -> None:
        """Ends what was left suspended."""
        try:
            for thing in [*self.main.things, *self.main.tasks, *self.lanes]:
                with suppress(BoomError):
                    thing.close(self.main)
        finally:
            if self.executor:
                self.executor.shutdown()
            self.recorder.disable()
            self.reference.disable()

    def act_advance(self, step: p.Advance, stack: CallStack) -> None:
        self.recorder.advance(step.ns)
        self.reference.advance(step.ns)

    def act_raise(self, step: p.Raise, stack: CallStack) -> None:
        raise BoomError

    def act_break(self, step: p.Break, stack: CallStack) -> None:
        raise BrokenOffError

    def act_call(self, step: p.Call, stack: CallStack) -> None:
        """One call too deep."""

    def act_snapshot(self, step: p.Snapshot, stack: CallStack) -> None:
        self.compare()

    def act_stage(self, step: p.Stage, stack: CallStack) -> None:
        if not stack.ends("section", "tick"):
            return
        self.recorder.stage(step.name)
        stack.stage(step.name)

    def act_tick(self, step: p.Tick, stack: CallStack) -> None:
        if not stack.ends("section"):  # else it may take the place of a loop's own tick, which the loop ends
            return
        self.recorder.tick(step.name, warmup=0)
        stack.tick(step.name)

    def act_record(self, step: p.Record, stack: CallStack) -> None:
        self.recorder.record_duration(step.name, step.ns / 1e9)
        stack.record(step.name, step.ns)

    def act_switch(self, step: p.Switch, stack: CallStack) -> None:
        for recorder in (self.recorder, self.reference):
            if step.what == "reset":
                recorder.reset()
            else:
                recorder.disable()
                recorder.advance(step.off_ns)
                recorder.enable()

    def act_timed(self, step: p.Timed, stack: CallStack) -> None:
        function = self.timed.get(step.name)
        if function is None:
            function = self.timed[step.name] = self.recorder.timed(step.name)(self._timed_body)
        call: list[Any] = []
        try:
            function(step, stack, call)
        finally:
            stack.leave(call[0])

    def _timed_body(self, step: p.Timed, stack: CallStack, call: list[Any]) -> None:
        call.append(stack.enter(step.name))
        self.body(step.body, stack)

    def act_incontext(self, step: p.InContext, stack: CallStack) -> None:
        inner = CallStack(self.reference, consumer=stack, thread=stack.thread)
        context = contextvars.copy_context()
        try:
            context.run(self.body, step.body, inner)
        finally:
            for generator in inner.things:
                context.run(generator.close, inner)

    def act_generator(self, step: p.Generator, stack: CallStack) -> None:
        """Generators may be resumed by whatever runs in the same context."""
        inner = CallStack(
            self.reference, consumer=stack, thread=stack.thread, is_generator=True, things=stack.things
        )
        stack.things.append(Suspended(self.frames(step.body, inner), inner, lambda action: action()))

    def act_task(self, step: p.Task, stack: CallStack) -> None:
        """As `create_task` does: the context is a copy of this one, made while the variable says where we are."""
        (origin,) = [origin for origin in origins() if origin.recorder is self.recorder] or [None]
        call, path = stack.place()
        inner = CallStack(self.reference, call=call, path=path, thread=stack.thread)
        inner.tasks, inner.lane = stack.tasks, stack.lane
        token = origin and self.recorder.origin_var.set(origin)
        context = contextvars.copy_context()
        if token:
            self.recorder.origin_var.reset(token)
        stack.tasks.append(Suspended(self.frames(step.body, inner), inner, context.run))

    def act_thread(self, step: p.Thread, stack: CallStack) -> None:
        if stack.lane is None:
            inner = CallStack(self.reference, path=stack.place()[1], thread=len(self.lanes) + 1)
            self.lanes.append(Lane(self.body, step.body, inner))

    def act_submit(self, step: p.Submit, stack: CallStack) -> None:
        if stack.lane is None:
            self.executor = self.executor or ThreadPoolExecutor(1)
            inner = CallStack(self.reference, path=stack.place()[1], thread=-1)
            inner.lane = self.executor
            self.executor.submit(self.body, step.body, inner).result()

    def act_suspend(self, step: p.Suspend, stack: CallStack) -> None:
        if isinstance(stack.lane, Lane):
            stack.lane.hand_over()

    def act_resume(self, step: p.Resume, stack: CallStack) -> None:
        things = list(stack.things)
        if stack.is_main or stack.is_thread:
            things += stack.tasks
        if stack.is_main:
            things += self.lanes
        if things:
            things[step.which % len(things)].resume(stack)

    def act_close(self, step: p.Close, stack: CallStack) -> None:
        if stack.things:
            stack.things[step.which % len(stack.things)].close(stack)
