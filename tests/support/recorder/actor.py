"""The steps of a random program without a body, or with a body that runs elsewhere."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import ticktree
from support.recorder import programs as p
from support.recorder.call_stacks import Strand
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
        strand: Its calls.
        run: How it is run: in which context.
    """

    def __init__(self, frames: Iterator[None], strand: Strand, run: Callable[..., Any]) -> None:
        self.frames, self.strand, self.run = frames, strand, run
        self.busy = False

    def resume(self, consumer: Strand) -> None:
        """Runs on until it is suspended again; does nothing where it is running or has ended."""
        self._do(lambda: next(self.frames, None), consumer)

    def close(self, consumer: Strand) -> None:
        """Ends it where it is."""
        self._do(self.frames.close, consumer)

    def _do(self, action: Callable[[], Any], consumer: Strand) -> None:
        if self.busy:
            return
        self.busy = True
        if self.strand.is_generator:
            self.strand.consumer = consumer
        try:
            self.run(action)
        finally:
            self.busy = False


class Actor:
    """What a performance consists of; `Player` adds the steps that hold others."""

    body: Callable[[p.Body, Strand], None]
    frames: Callable[[p.Body, Strand], Iterator[None]]

    def __init__(self, program: p.Program) -> None:
        self.program = program
        caps = program.caps
        self.recorder = ticktree.Recorder.__new__(ticktree.Recorder, virtual_clock=True)
        self.recorder.open(node_cap=caps.nodes, name_cap=caps.names, depth_cap=caps.depth)
        self.recorder.enable()
        self.reference = Reference(caps.nodes, caps.names, caps.depth)
        self.reference.enable()
        self.main = Strand(self.reference, is_main=True)
        self.lanes: list[Lane] = []
        self.steps = 0
        self.timed: dict[str, Callable[..., None]] = {}
        self.executor: ThreadPoolExecutor | None = None

    def act(self, step: p.Step, strand: Strand) -> None:
        """Plays one step; those that are possible in some strands only do nothing in others."""
        getattr(self, f"act_{type(step).__name__.lower()}")(step, strand)

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

    def act_advance(self, step: p.Advance, strand: Strand) -> None:
        self.recorder.advance(step.ns)
        self.reference.advance(step.ns)

    def act_raise(self, step: p.Raise, strand: Strand) -> None:
        raise BoomError

    def act_break(self, step: p.Break, strand: Strand) -> None:
        raise BrokenOffError

    def act_call(self, step: p.Call, strand: Strand) -> None:
        """One call too deep."""

    def act_snapshot(self, step: p.Snapshot, strand: Strand) -> None:
        self.compare()

    def act_stage(self, step: p.Stage, strand: Strand) -> None:
        if not strand.ends("section", "tick"):
            return
        self.recorder.stage(step.name)
        strand.stage(step.name)

    def act_tick(self, step: p.Tick, strand: Strand) -> None:
        if not strand.ends("section"):  # else it may take the place of a loop's own tick, which the loop ends
            return
        self.recorder.tick(step.name, warmup=0)
        strand.tick(step.name)

    def act_record(self, step: p.Record, strand: Strand) -> None:
        self.recorder.record_duration(step.name, step.ns / 1e9)
        strand.record(step.name, step.ns)

    def act_switch(self, step: p.Switch, strand: Strand) -> None:
        for recorder in (self.recorder, self.reference):
            if step.what == "reset":
                recorder.reset()
            else:
                recorder.disable()
                recorder.advance(step.off_ns)
                recorder.enable()

    def act_timed(self, step: p.Timed, strand: Strand) -> None:
        function = self.timed.get(step.name)
        if function is None:
            function = self.timed[step.name] = self.recorder.timed(step.name)(self._timed_body)
        call: list[Any] = []
        try:
            function(step, strand, call)
        finally:
            strand.leave(call[0])

    def _timed_body(self, step: p.Timed, strand: Strand, call: list[Any]) -> None:
        call.append(strand.enter(step.name))
        self.body(step.body, strand)

    def act_incontext(self, step: p.InContext, strand: Strand) -> None:
        inner = Strand(self.reference, consumer=strand, thread=strand.thread)
        context = contextvars.copy_context()
        try:
            context.run(self.body, step.body, inner)
        finally:
            for generator in inner.things:
                context.run(generator.close, inner)

    def act_generator(self, step: p.Generator, strand: Strand) -> None:
        """Generators may be resumed by whatever runs in the same context."""
        inner = Strand(
            self.reference, consumer=strand, thread=strand.thread, is_generator=True, things=strand.things
        )
        strand.things.append(Suspended(self.frames(step.body, inner), inner, lambda action: action()))

    def act_task(self, step: p.Task, strand: Strand) -> None:
        """As `create_task` does: the context is a copy of this one, made while the variable says where we are."""
        (origin,) = [origin for origin in origins() if origin.recorder is self.recorder] or [None]
        call, path = strand.place()
        inner = Strand(self.reference, call=call, path=path, thread=strand.thread)
        inner.tasks, inner.lane = strand.tasks, strand.lane
        token = origin and self.recorder.origin_var.set(origin)
        context = contextvars.copy_context()
        if token:
            self.recorder.origin_var.reset(token)
        strand.tasks.append(Suspended(self.frames(step.body, inner), inner, context.run))

    def act_thread(self, step: p.Thread, strand: Strand) -> None:
        if strand.lane is None:
            inner = Strand(self.reference, path=strand.place()[1], thread=len(self.lanes) + 1)
            self.lanes.append(Lane(self.body, step.body, inner))

    def act_submit(self, step: p.Submit, strand: Strand) -> None:
        if strand.lane is None:
            self.executor = self.executor or ThreadPoolExecutor(1)
            inner = Strand(self.reference, path=strand.place()[1], thread=-1)
            inner.lane = self.executor
            self.executor.submit(self.body, step.body, inner).result()

    def act_suspend(self, step: p.Suspend, strand: Strand) -> None:
        if isinstance(strand.lane, Lane):
            strand.lane.hand_over()

    def act_resume(self, step: p.Resume, strand: Strand) -> None:
        things = list(strand.things)
        if strand.is_main or strand.is_thread:
            things += strand.tasks
        if strand.is_main:
            things += self.lanes
        if things:
            things[step.which % len(things)].resume(strand)

    def act_close(self, step: p.Close, strand: Strand) -> None:
        if strand.things:
            strand.things[step.which % len(strand.things)].close(strand)
