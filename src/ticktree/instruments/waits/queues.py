"""Queues of threads (`queue`) and of processes (`multiprocessing.queues`)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Make, Patches
from ticktree.instruments.waits import make_signal, make_wait, pipes
from ticktree.recorder import Channel, Recorder, Wait, silence

# The size of a multiprocessing queue without a bound.
_UNBOUNDED = 2**31 - 1


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wrap the queues of threads: `queue.Queue`, and with it LifoQueue and PriorityQueue."""
    items = Channel(recorder, "queue", own=True)
    space = Channel(recorder, "queue space", own=True)
    tasks = Channel(recorder, "queue tasks", own=True)
    wait = Wait(space, "Queue.put")

    def make_put(put: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, item: Any, block: bool = True, timeout: float | None = None) -> Any:
            # Before, because a waiting thread may be awake before this one; and after, if `put` had to wait.
            items.wakes(id(self))
            if not block or not _is_bounded(self):
                return put(self, item, block, timeout)
            result = wait.call(put, (self, item, block, timeout), id(self))
            items.wakes(id(self))
            return result

        return wrapper

    patches.wrap_own(module, "Queue.get", _make_get(items, space, id, _is_bounded))
    patches.wrap_own(module, "Queue.put", make_put)
    patches.wrap_own(module, "Queue.task_done", make_signal(tasks, id))
    patches.wrap_own(module, "Queue.join", make_wait(tasks, "Queue.join", id))


def wrap_shared(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wrap the queues of processes. Their channel is the pipe inside: its inode is the same in every process."""
    items, space = Channel(recorder, pipes.CHANNEL), Channel(recorder, "queue space")
    tasks = Channel(recorder, "queue tasks")
    wait = Wait(space, "Queue.put")

    def make_put(put: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, obj: Any, block: bool = True, timeout: float | None = None) -> Any:
            key = _pipe_inode(self)
            items.wakes(key)
            if not block or not _is_shared_bounded(self):
                return put(self, obj, block, timeout)
            result = wait.call(put, (self, obj, block, timeout), key)
            items.wakes(key)
            return result

        return wrapper

    def make_feed(feed: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            silence()  # it only sends what other threads have put, and have signalled
            return feed(*args, **kwargs)

        return wrapper

    patches.wrap_own(module, "Queue.get", _make_get(items, space, _pipe_inode, _is_shared_bounded))
    patches.wrap_own(module, "Queue.put", make_put)
    patches.wrap_own(module, "Queue._feed", make_feed)
    patches.wrap_own(module, "JoinableQueue.put", make_put)
    patches.wrap_own(module, "JoinableQueue.task_done", make_signal(tasks, _pipe_inode))
    patches.wrap_own(module, "JoinableQueue.join", make_wait(tasks, "JoinableQueue.join", _pipe_inode))
    patches.wrap_own(module, "SimpleQueue.get", make_wait(items, "SimpleQueue.get", _pipe_inode))


def _make_get(
    items: Channel, space: Channel, find_key: Callable[[Any], int | None], is_bounded: Callable[[Any], bool]
) -> Make:
    wait = Wait(items, "Queue.get")

    def make(get: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, block: bool = True, timeout: float | None = None) -> Any:
            key = find_key(self)
            item = wait.call(get, (self, block, timeout), key) if block else get(self, block, timeout)
            if is_bounded(self):
                space.wakes(key)
            return item

        return wrapper

    return make


def _is_bounded(queue: Any) -> bool:
    try:
        return bool(queue.maxsize > 0)
    except Exception:  # of a subclass
        return False


def _is_shared_bounded(queue: Any) -> bool:
    return bool(getattr(queue, "_maxsize", _UNBOUNDED) != _UNBOUNDED)


def _pipe_inode(queue: Any) -> int | None:
    return pipes.inode(getattr(queue, "_reader", None))
