"""Workers: each call that they execute is a section, below the path that the call carries."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from ticktree.instruments.ray.submitting import CALLS, KEY, decode_path
from ticktree.instruments.ray.waiting import CHANNEL, Key, strip_scope
from ticktree.recorder import Channel
from ticktree.recorder._native import call_under, follow, origin_under
from ticktree.recorder.site import NO_SITE
from ticktree.recorder.wrapping import without_own_frames

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

TASKS = "ray tasks"  # the name and role of a worker that is no actor
_MAX_TITLES = 64
_MAX_PATHS = 4096


class WorkerCalls:
    """The calls that one worker executes.

    Args:
        recorder: Records them.
        is_ready: Called before each call, with the name of the actor's class, "" for a task: whether to record it.
    """

    def __init__(self, recorder: Recorder, is_ready: Callable[[str], bool]) -> None:
        self.recorder = recorder
        self._is_ready = is_ready
        self._channel = Channel(recorder, CHANNEL)
        self._calls = Channel(recorder, CALLS)
        self._infos: dict[int, tuple[Any, Any]] = {}  # Ray's and ours, by the identity of Ray's
        self._parents: dict[bytes, tuple[str, ...]] = {}
        self._sections: dict[str, Section] = {}

    def wrap(self) -> None:
        """Record the calls of this process from now on."""
        from ray._private.function_manager import FunctionActorManager

        find = FunctionActorManager.get_execution_info

        @functools.wraps(find)
        def get_execution_info(manager: Any, job_id: Any, descriptor: Any) -> Any:
            return self._wrap_info(find(manager, job_id, descriptor), descriptor)

        FunctionActorManager.get_execution_info = get_execution_info

    def _wrap_info(self, info: Any, descriptor: Any) -> Any:
        infos = self._infos.get(id(info))
        if infos is None:
            function = self._function(info.function, descriptor)
            infos = self._infos[id(info)] = (info, info._replace(function=function))
        return infos[1]

    def _function(self, function: Callable[..., Any], descriptor: Any) -> Callable[..., Any]:
        method = getattr(function, "method", None)
        kind = strip_scope(descriptor.class_name or "")
        names = (kind, str(getattr(function, "name", descriptor.function_name))) if kind else None
        is_coroutine = inspect.iscoroutinefunction(method)
        is_generator = inspect.isgeneratorfunction(method or function)
        # Ray's own methods, which it finds by their names, and functions whose calls have no visible end.
        is_skipped = inspect.isasyncgenfunction(method) or (
            names is not None and names[1].startswith("__ray_")
        )

        @functools.wraps(function)
        @without_own_frames
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            path = kwargs.pop(KEY, None)
            if is_skipped or not self._is_ready(kind):
                return function(*args, **kwargs)
            call = _WorkerCall(self, self._follow(path), names or (self._title(descriptor),))
            if is_coroutine:
                return call.run_coroutine(function(*args, **kwargs))
            if is_generator:
                return call.run_generator(function(*args, **kwargs))
            return call.run(function, args, kwargs)

        return wrapper

    def _title(self, descriptor: Any) -> str:
        """Return the title of a task: the name that the call gives it, as long as titles are few."""
        plain = strip_scope(descriptor.function_name)
        import ray

        title = plain
        with suppress(Exception):
            title = strip_scope(ray.get_runtime_context().get_task_name() or plain)
        if title in self._sections or len(self._sections) < _MAX_TITLES:
            return title
        return plain

    def _follow(self, path: Any) -> tuple[str, ...]:
        """Continue from where a call was made; return the names of the sections there."""
        if not isinstance(path, bytes):
            return ()
        follow(self._calls, path)
        names = self._parents.get(path)
        if names is None:
            if len(self._parents) >= _MAX_PATHS:
                self._parents.clear()
            names = self._parents[path] = decode_path(path)
        return names

    def section(self, name: str) -> Section:
        """Return the section of a name."""
        section = self._sections.get(name)
        if section is None:
            section = self._sections[name] = self.recorder.timed_section(name, NO_SITE)
        return section

    def done(self, title: str) -> None:
        """Wake the waits for this worker, or for a task of this title."""
        import ray

        actor = ray._private.worker.global_worker.actor_id
        key: Key = title if actor.is_nil() else actor.binary()
        self._channel.wakes(key)


class _WorkerCall:
    """One call, in its own sections below those where it was made."""

    __slots__ = ("_calls", "_names", "_parents")

    def __init__(self, calls: WorkerCalls, parents: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._calls = calls
        self._parents = parents
        self._names = names

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a plain function."""
        if asyncio._get_running_loop() is not None:  # a plain method of an actor that also has coroutines
            self._set_origin()
            return self._call(function, *args, **kwargs)
        return self._call_below(self._call, function, *args, **kwargs)

    @without_own_frames
    async def run_coroutine(self, coroutine: Any) -> Any:
        """Run a coroutine."""
        self._set_origin()
        with self._sections():
            try:
                return await coroutine
            finally:
                self._calls.done(self._names[-1])

    @without_own_frames
    def run_generator(self, items: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run a generator, which works while an item is requested: each time is a call."""
        end = object()
        try:
            while (item := self._call_below(self._call, next, items, end)) is not end:
                yield item
        finally:
            items.close()

    def _call_below(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return call_under(self._calls.recorder, self._parents, function, args, kwargs)

    def _set_origin(self) -> None:
        recorder = self._calls.recorder
        recorder.origin_var.set(origin_under(recorder, self._parents))

    def _sections(self) -> ExitStack:
        stack = ExitStack()
        for name in self._names:
            stack.enter_context(self._calls.section(name))
        return stack

    def _call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with self._sections():
            try:
                return function(*args, **kwargs)
            finally:
                self._calls.done(self._names[-1])
