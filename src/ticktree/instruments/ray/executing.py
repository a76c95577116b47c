"""Workers: what they are called to do is a section, below the names that the call carries."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from ticktree.instruments.ray.submitting import CALLS, KEY, names_in
from ticktree.instruments.ray.titles import Key, short
from ticktree.instruments.ray.waiting import CHANNEL
from ticktree.recorder import Channel
from ticktree.recorder._native import call_under, follow, origin_under
from ticktree.recorder.site import NO_SITE
from ticktree.recorder.wrapping import leaving_no_frames

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

TASKS = "ray tasks"  # what a worker is called that is no actor
_MOST_TITLES = 64
_MOST_WORDS = 4096


class WorkerCalls:
    """What one worker is called to do.

    Args:
        recorder: Where it is recorded.
        ready: Called before each call, with the name of the actor's class, "" for a task: whether it is recorded.
    """

    def __init__(self, recorder: Recorder, ready: Callable[[str], bool]) -> None:
        self.recorder = recorder
        self._ready = ready
        self._channel = Channel(recorder, CHANNEL)
        self._calls = Channel(recorder, CALLS)
        self._made: dict[int, tuple[Any, Any]] = {}
        self._words: dict[bytes, tuple[str, ...]] = {}
        self._sections: dict[str, Section] = {}

    def wrap(self) -> None:
        """From now on what this process is called to do is recorded."""
        from ray._private.function_manager import FunctionActorManager

        find = FunctionActorManager.get_execution_info

        @functools.wraps(find)
        def get_execution_info(manager: Any, job_id: Any, descriptor: Any) -> Any:
            return self._wrapped(find(manager, job_id, descriptor), descriptor)

        FunctionActorManager.get_execution_info = get_execution_info

    def _wrapped(self, info: Any, descriptor: Any) -> Any:
        known = self._made.get(id(info))
        if known is None:
            function = self._function(info.function, descriptor)
            known = self._made[id(info)] = (info, info._replace(function=function))
        return known[1]

    def _function(self, function: Callable[..., Any], descriptor: Any) -> Callable[..., Any]:
        method = getattr(function, "method", None)
        kind = short(descriptor.class_name or "")
        names = (kind, str(getattr(function, "name", descriptor.function_name))) if kind else None
        is_coroutine = inspect.iscoroutinefunction(method)
        is_generator = inspect.isgeneratorfunction(method or function)
        # Ray's own, which it looks at by their names; and those whose calls have no visible end.
        is_left = inspect.isasyncgenfunction(method) or (names is not None and names[1].startswith("__ray_"))

        @functools.wraps(function)
        @leaving_no_frames
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            word = kwargs.pop(KEY, None)
            if is_left or not self._ready(kind):
                return function(*args, **kwargs)
            call = _Call(self, self._names(word), names or (self._title(descriptor),))
            if is_coroutine:
                return call.awaited(function(*args, **kwargs))
            if is_generator:
                return call.relayed(function(*args, **kwargs))
            return call.made(function, args, kwargs)

        return wrapper

    def _title(self, descriptor: Any) -> str:
        """What a task is called: what its call says, as long as those are few."""
        plain = short(descriptor.function_name)
        import ray

        title = plain
        with suppress(Exception):
            title = short(ray.get_runtime_context().get_task_name() or plain)
        if title in self._sections or len(self._sections) < _MOST_TITLES:
            return title
        return plain

    def _names(self, word: Any) -> tuple[str, ...]:
        """The names that a call carried."""
        if not isinstance(word, bytes):
            return ()
        follow(self._calls, word)
        names = self._words.get(word)
        if names is None:
            if len(self._words) >= _MOST_WORDS:
                self._words.clear()
            names = self._words[word] = names_in(word)
        return names

    def section(self, name: str) -> Section:
        """The section of a name."""
        section = self._sections.get(name)
        if section is None:
            section = self._sections[name] = self.recorder.timed_section(name, NO_SITE)
        return section

    def done(self, title: str) -> None:
        """Wakes what waits for this worker, or for a task of this title."""
        import ray

        actor = ray._private.worker.global_worker.actor_id
        key: Key = title if actor.is_nil() else actor.binary()
        self._channel.wakes(key)


class _Call:
    """One call, in own sections below those that it was made in."""

    __slots__ = ("_above", "_names", "_work")

    def __init__(self, work: WorkerCalls, above: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._work = work
        self._above = above
        self._names = names

    def made(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a plain function."""
        if asyncio._get_running_loop() is not None:  # a plain method of an actor that has others
            self._hang_task()
            return self._in_sections(function, *args, **kwargs)
        return self._under(self._in_sections, function, *args, **kwargs)

    @leaving_no_frames
    async def awaited(self, coroutine: Any) -> Any:
        """Runs a coroutine."""
        self._hang_task()
        with self._sections():
            try:
                return await coroutine
            finally:
                self._work.done(self._names[-1])

    @leaving_no_frames
    def relayed(self, items: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """A generator runs while an item is requested: each time is a call."""
        end = object()
        try:
            while (item := self._under(self._in_sections, next, items, end)) is not end:
                yield item
        finally:
            items.close()

    def _under(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return call_under(self._work.recorder, self._above, function, args, kwargs)

    def _hang_task(self) -> None:
        recorder = self._work.recorder
        recorder.origin_var.set(origin_under(recorder, self._above))

    def _sections(self) -> ExitStack:
        stack = ExitStack()
        for name in self._names:
            stack.enter_context(self._work.section(name))
        return stack

    def _in_sections(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with self._sections():
            try:
                return function(*args, **kwargs)
            finally:
                self._work.done(self._names[-1])
