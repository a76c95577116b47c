"""Queues: of threads (`queue`) and of processes (`multiprocessing.queues`)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.instrument.waits import pipes
from ticktree.instrument.waits.call import Wait
from ticktree.recorder._native import silence

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# multiprocessing gives a queue without a bound this one.
_NO_BOUND = 2**31 - 1


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the queues of threads: `queue.Queue`, and with it LifoQueue and PriorityQueue."""
    signal = recorder.auto_signal
    getting = Wait(recorder, "Queue.get", "queue", own=True)
    putting = Wait(recorder, "Queue.put", "queue space", own=True)
    joining = Wait(recorder, "Queue.join", "queue tasks", own=True)

    def make_get(get: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, block: bool = True, timeout: float | None = None) -> Any:
            if block:
                item = getting.call(get, id, (self, block, timeout), {})
            else:
                item = get(self, block, timeout)
            if _is_bounded(self):
                signal("queue space", id(self), True)
            return item

        return wrapper

    def make_put(put: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, item: Any, block: bool = True, timeout: float | None = None) -> Any:
            # Before, because who waits may be awake before we are; after too, where it was put only then.
            signal("queue", id(self), True)
            if not block or not _is_bounded(self):
                return put(self, item, block, timeout)
            result = putting.call(put, id, (self, item, block, timeout), {})
            signal("queue", id(self), True)
            return result

        return wrapper

    def make_task_done(task_done: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            signal("queue tasks", id(self), True)
            return task_done(self)

        return wrapper

    def make_join(join: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            return joining.call(join, id, (self,), {})

        return wrapper

    patches.wrap(module.Queue, "get", make_get)
    patches.wrap(module.Queue, "put", make_put)
    patches.wrap(module.Queue, "task_done", make_task_done)
    patches.wrap(module.Queue, "join", make_join)


def _is_bounded(queue: Any) -> bool:
    bound = getattr(queue, "maxsize", 0)
    return isinstance(bound, int) and bound > 0


def wrap_shared(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the queues of processes. Their channel is the pipe inside: its inode is the same in every process."""
    signal = recorder.auto_signal
    getting = Wait(recorder, "Queue.get", pipes.CHANNEL)
    putting = Wait(recorder, "Queue.put", "queue space")
    simply = Wait(recorder, "SimpleQueue.get", pipes.CHANNEL)
    joining = Wait(recorder, "JoinableQueue.join", "queue tasks")

    def key(queue: Any) -> int | None:
        return pipes.inode(queue._reader)

    def written(queue: Any) -> int | None:
        return pipes.inode(queue._writer)

    def make_get(get: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, block: bool = True, timeout: float | None = None) -> Any:
            item = getting.call(get, key, (self, block, timeout), {}) if block else get(self, block, timeout)
            if self._maxsize != _NO_BOUND:
                signal("queue space", key(self))
            return item

        return wrapper

    def make_put(put: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, obj: Any, block: bool = True, timeout: float | None = None) -> Any:
            signal(pipes.CHANNEL, written(self))
            if not block or self._maxsize == _NO_BOUND:
                return put(self, obj, block, timeout)
            result = putting.call(put, written, (self, obj, block, timeout), {})
            signal(pipes.CHANNEL, written(self))
            return result

        return wrapper

    def make_feed(feed: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            silence()  # it only carries what other threads have put, and have signalled
            return feed(*args, **kwargs)

        return wrapper

    def make_simple_get(get: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            return simply.call(get, key, (self,), {})

        return wrapper

    def make_task_done(task_done: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            signal("queue tasks", key(self))
            return task_done(self)

        return wrapper

    def make_join(join: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            return joining.call(join, key, (self,), {})

        return wrapper

    patches.wrap(module.Queue, "get", make_get)
    patches.wrap(module.Queue, "put", make_put)
    patches.wrap(module.Queue, "_feed", make_feed)
    patches.wrap(module.JoinableQueue, "put", make_put)
    patches.wrap(module.JoinableQueue, "task_done", make_task_done)
    patches.wrap(module.JoinableQueue, "join", make_join)
    patches.wrap(module.SimpleQueue, "get", make_simple_get)
