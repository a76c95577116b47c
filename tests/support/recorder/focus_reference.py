"""A slow reference tracer: `sys.setprofile` in Python, which keeps a tree of the reported calls.

Ticktree's own functions are not in it, as they are not in a tree of focus: the recorders that the tests make hear of
each garbage collection by one of them, and the interpreter calls it wherever a collection happens to run.
Comprehensions and generator expressions are no calls: what they call is called by whoever runs them.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import ticktree

_PARTS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_TICKTREE_PATH = f"{Path(ticktree.__file__).resolve().parent}{os.sep}"
_SLEEPS = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
_SUSPENDS = _SLEEPS | inspect.CO_GENERATOR


@dataclass
class Call:
    """A place in the tree: what is called, and by the first argument of which call."""

    name: str
    count: int = 0
    total_ns: int = 0
    below: dict[str, Call] = field(default_factory=dict)

    def shape(self) -> dict[str, Any]:
        """Counts and totals by path."""
        return {name: (call.count, call.total_ns, call.shape()) for name, call in sorted(self.below.items())}


class Reference:
    """Keeps the tree of calls below one code object, so many levels deep.

    Args:
        root: The code.
        depth: Levels of calls below it.
        now: The clock.
        pause: What a coroutine gives to whoever drives it, when it pauses.
    """

    def __init__(self, root: CodeType, depth: int, now: Callable[[], int], pause: object) -> None:
        self.tree = Call("")
        self._root, self._depth, self._now, self._pause = root, depth, now, pause
        self._running: list[FrameType] = []
        self._open: dict[FrameType, tuple[Call, int, int]] = {}

    def run(self, program: Callable[[], Any]) -> None:
        """Calls `program`, and looks."""
        sys.setprofile(self._told)
        try:
            program()
        finally:
            sys.setprofile(None)

    def _told(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            self._begin(frame)
            self._running.append(frame)
        elif event == "return" and frame in self._running:
            self._running.remove(frame)
        if event == "return" and not (frame.f_code.co_flags & _SLEEPS and arg is self._pause):
            self._end(frame)

    def _begin(self, frame: FrameType) -> None:
        if frame in self._open:  # a coroutine goes on
            return
        code = frame.f_code
        if code.co_filename.startswith(_TICKTREE_PATH) or code.co_name in _PARTS:
            return
        caller = frame.f_back
        while caller is not None and (caller.f_code.co_name in _PARTS or self._lends(caller)):
            caller = self._running[-1] if self._lends(caller) else caller.f_back
        around = self._open.get(caller) if caller is not None else None
        if around is None:
            if code is not self._root:
                return
            call, depth = self.tree, self._depth + 1
        else:
            call, _, depth = around
        if not depth:
            return
        name = f"{code.co_name}({frame.f_locals['site'] if 'site' in code.co_varnames else ''}"
        self._open[frame] = (call.below.setdefault(name, Call(name)), self._now(), depth - 1)

    def _lends(self, frame: FrameType) -> bool:
        """Whether it is a generator that does not run: what is thrown into it goes to what it yields from, past it."""
        sleeps = frame.f_code.co_flags & _SUSPENDS and frame not in self._running
        return bool(sleeps and self._running)

    def _end(self, frame: FrameType) -> None:
        call, began, _ = self._open.pop(frame, (None, 0, 0))
        if call is not None:
            call.count += 1
            call.total_ns += self._now() - began
