"""Queues: of threads (`queue`) and of processes (`multiprocessing.queues`)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Make, Patches
from ticktree.instruments.waits import pipes, signalling, waiting
from ticktree.recorder import Channel, Recorder, Wait, silence

# multiprocessing gives a queue without a bound this one.
_NO_BOUND = 2**31 - 1


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the queues of threads: `queue.Queue`, and with it LifoQueue and PriorityQueue."""
    items = Channel(recorder, "queue", own=True)
    space = Channel(recorder, "queue space", own=True)
    tasks = Channel(recorder, "queue tasks", own=True)
    putting = Wait(space, "Queue.put")

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

    patches.wrap_own(module, "Queue.get", _getting(items, space, id, _is_bounded))
    patches.wrap_own(module, "Queue.put", make_put)
    patches.wrap_own(module, "Queue.task_done", signalling(tasks, id))
    patches.wrap_own(module, "Queue.join", waiting(tasks, "Queue.join", id))


def wrap_shared(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the queues of processes. Their channel is the pipe inside: its inode is the same in every process."""
    items, space = Channel(recorder, pipes.CHANNEL), Channel(recorder, "queue space")
    tasks = Channel(recorder, "queue tasks")
    putting = Wait(space, "Queue.put")

    def make_put(put: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, obj: Any, block: bool = True, timeout: float | None = None) -> Any:
            key = _pipe_of(self)
            items.wakes(key)
            if not block or not _is_shared_bounded(self):
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

    patches.wrap_own(module, "Queue.get", _getting(items, space, _pipe_of, _is_shared_bounded))
    patches.wrap_own(module, "Queue.put", make_put)
    patches.wrap_own(module, "Queue._feed", make_feed)
    patches.wrap_own(module, "JoinableQueue.put", make_put)
    patches.wrap_own(module, "JoinableQueue.task_done", signalling(tasks, _pipe_of))
    patches.wrap_own(module, "JoinableQueue.join", waiting(tasks, "JoinableQueue.join", _pipe_of))
    patches.wrap_own(module, "SimpleQueue.get", waiting(items, "SimpleQueue.get", _pipe_of))


def _getting(
    items: Channel, space: Channel, key_of: Callable[[Any], int | None], is_bounded: Callable[[Any], bool]
) -> Make:
    getting = Wait(items, "Queue.get")

    def make(get: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, block: bool = True, timeout: float | None = None) -> Any:
            key = key_of(self)
            item = getting.call(get, (self, block, timeout), key) if block else get(self, block, timeout)
            if is_bounded(self):
                space.wakes(key)
            return item

        return wrapper

    return make


def _is_bounded(queue: Any) -> bool:
    try:
        return bool(queue.maxsize > 0)
    except Exception:  # a subclass's own
        return False


def _is_shared_bounded(queue: Any) -> bool:
    return bool(getattr(queue, "_maxsize", _NO_BOUND) != _NO_BOUND)


def _pipe_of(queue: Any) -> int | None:
    return pipes.inode(getattr(queue, "_reader", None))
