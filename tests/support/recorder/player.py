"""Plays a random program on the native recorder, and reports its events to the reference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from support.recorder import programs as p
from support.recorder.actor import Actor, BoomError, BrokenOffError
from support.recorder.call_stacks import CallStack

MOST_STEPS = 250
DEEPEST_CALL = 5


class Player(Actor):
    """One performance of one program: the steps that hold others, in plain functions and in generators."""

    def play(self) -> None:
        """Plays it, ends what it left suspended, and compares the two recorders after each."""
        try:
            with suppress(BoomError):
                self.body(self.program.main, self.main)
            self.compare()
        finally:
            self.end()
        self.compare()

    def is_over(self, step: p.Step) -> bool:
        """Whether a step is left out: programs that call themselves need an end."""
        self.steps += 1
        return self.steps > MOST_STEPS

    def body(self, body: p.Body, stack: CallStack) -> None:
        """Plays steps in plain functions."""
        for step in body:
            if self.is_over(step):
                continue
            match step:
                case p.Section(name, inner):
                    self.section(name, inner, stack)
                case p.Catch(inner):
                    with suppress(BoomError):
                        self.body(inner, stack)
                case p.Call(function) if stack.depth < DEEPEST_CALL:
                    stack.depth += 1
                    try:
                        self.body(self.program.functions[function], stack)
                    finally:
                        stack.depth -= 1
                case p.Loop():
                    self.loop(step, stack)
                case _:
                    self.act(step, stack)

    def section(self, name: str, body: p.Body, stack: CallStack) -> None:
        with self.recorder.section(name):
            call = stack.enter(name)
            try:
                self.body(body, stack)
            finally:
                stack.leave(call)

    def loop(self, step: p.Loop, stack: CallStack) -> None:
        tick, warmup = None, _warmup(step, stack)
        try:
            for _ in self.recorder.loop(step.name, range(step.ticks), warmup=warmup):
                tick = stack.next_tick(step.name, tick, warmup)
                try:
                    self.body(step.body, stack)
                except BrokenOffError:
                    break
            else:
                tick = stack.next_tick(step.name, tick, warmup, has_item=False)
                stack.end_tick(tick, void=True)
        finally:
            stack.end_tick(tick, void=False)

    def frames(self, body: p.Body, stack: CallStack) -> Iterator[None]:
        """Plays steps in frames that may be suspended: those of generators and coroutines."""
        for step in body:
            if self.is_over(step):
                continue
            match step:
                case p.Section(name, inner):
                    yield from self.section_frames(name, inner, stack)
                case p.Catch(inner):
                    with suppress(BoomError):
                        yield from self.frames(inner, stack)
                case p.Call(function) if stack.depth < DEEPEST_CALL:
                    stack.depth += 1
                    try:
                        yield from self.frames(self.program.functions[function], stack)
                    finally:
                        stack.depth -= 1
                case p.Loop():
                    yield from self.loop_frames(step, stack)
                case p.Suspend():
                    yield
                case _:
                    self.act(step, stack)

    def section_frames(self, name: str, body: p.Body, stack: CallStack) -> Iterator[None]:
        with self.recorder.section(name):
            call = stack.enter(name)
            try:
                yield from self.frames(body, stack)
            finally:
                stack.leave(call)

    def loop_frames(self, step: p.Loop, stack: CallStack) -> Iterator[None]:
        tick, warmup = None, _warmup(step, stack)
        try:
            for _ in self.recorder.loop(step.name, range(step.ticks), warmup=warmup):
                tick = stack.next_tick(step.name, tick, warmup)
                try:
                    yield from self.frames(step.body, stack)
                except BrokenOffError:
                    break
            else:
                tick = stack.next_tick(step.name, tick, warmup, has_item=False)
                stack.end_tick(tick, void=True)
        finally:
            stack.end_tick(tick, void=False)


def _warmup(step: p.Loop, stack: CallStack) -> int:
    """A thread has none here: whether it goes on with an ended thread's tree and phases is up to the scheduler."""
    return 0 if stack.thread else step.warmup
