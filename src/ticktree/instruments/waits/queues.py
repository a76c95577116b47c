"""Queues: of threads (`queue`) and of processes (`multiprocessing.queues`)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.waits import pipes
from ticktree.recorder import Channel, Recorder, Wait, silence

# multiprocessing gives a queue without a bound this one.
_NO_BOUND = 2**31 - 1


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the queues of threads: `queue.Queue`, and with it LifoQueue and PriorityQueue."""
    items = Channel(recorder, "queue", own=True)
    space = Channel(recorder, "queue space", own=True)
    tasks = Channel(recorder, "queue tasks", own=True)
    getting, putting, joining = Wait(items, "Queue.get"), Wait(space, "Queue.put"), Wait(tasks, "Queue.join")

    def make_get(get: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, block: bool = True, timeout: float | None = None) -> Any:
            item = getting.call(get, (self, block, timeout), id(self)) if block else get(self, block, timeout)
            if _is_bounded(self):
                space.wakes(id(self))
            return item

        return wrapper

    def make_put(put: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, item: Any, block: bool = True, timeout: float | None = None) -> Any:
            # Before, because a waiting thread may be awake before this one; after too, where it was put only
            # then.
            items.wakes(id(self))
            if not block or not _is_bounded(self):
                return put(self, item, block, timeout)
            result = putting.call(put, (self, item, block, timeout), id(self))
            items.wakes(id(self))
            return result

        return wrapper

    patches.wrap_own(module, "Queue.get", make_get)
    patches.wrap_own(module, "Queue.put", make_put)
    patches.wrap_own(module, "Queue.task_done", lambda done: _signalling(done, tasks, id))
    patches.wrap_own(module, "Queue.join", lambda join: _waiting(join, joining, id))


def wrap_shared(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the queues of processes. Their channel is the pipe inside: its inode is the same in every process."""
    items, space = Channel(recorder, pipes.CHANNEL), Channel(recorder, "queue space")
    tasks = Channel(recorder, "queue tasks")
    getting, putting = Wait(items, "Queue.get"), Wait(space, "Queue.put")
    simply, joining = Wait(items, "SimpleQueue.get"), Wait(tasks, "JoinableQueue.join")

    def make_get(get: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, block: bool = True, timeout: float | None = None) -> Any:
            key = _pipe_of(self)
            item = getting.call(get, (self, block, timeout), key) if block else get(self, block, timeout)
            if getattr(self, "_maxsize", _NO_BOUND) != _NO_BOUND:
                space.wakes(key)
            return item

        return wrapper

    def make_put(put: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, obj: Any, block: bool = True, timeout: float | None = None) -> Any:
            key = _pipe_of(self)
            items.wakes(key)
            if not block or getattr(self, "_maxsize", _NO_BOUND) == _NO_BOUND:
                return put(self, obj, block, timeout)
            result = putting.call(put, (self, obj, block, timeout), key)
            items.wakes(key)
            return result

        return wrapper

    def make_feed(feed: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            silence()  # it only carries what other threads have put, and have signalled
            return feed(*args, **kwargs)

        return wrapper

    patches.wrap_own(module, "Queue.get", make_get)
    patches.wrap_own(module, "Queue.put", make_put)
    patches.wrap_own(module, "Queue._feed", make_feed)
    patches.wrap_own(module, "JoinableQueue.put", make_put)
    patches.wrap_own(module, "JoinableQueue.task_done", lambda done: _signalling(done, tasks, _pipe_of))
    patches.wrap_own(module, "JoinableQueue.join", lambda join: _waiting(join, joining, _pipe_of))
    patches.wrap_own(module, "SimpleQueue.get", lambda get: _waiting(get, simply, _pipe_of))


def _is_bounded(queue: Any) -> bool:
    try:
        return bool(queue.maxsize > 0)
    except Exception:  # a subclass's own
        return False


def _pipe_of(queue: Any) -> int | None:
    return pipes.inode(getattr(queue, "_reader", None))


def _signalling(
    function: Callable[[Any], Any], channel: Channel, key: Callable[[Any], int | None]
) -> Callable[..., Any]:
    def wrapper(self: Any) -> Any:
        channel.wakes(key(self))
        return function(self)

    return wrapper


def _waiting(
    function: Callable[[Any], Any], wait: Wait, key: Callable[[Any], int | None]
) -> Callable[..., Any]:
    def wrapper(self: Any) -> Any:
        return wait.call(function, (self,), key(self))

    return wrapper
