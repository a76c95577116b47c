"""Locks of multiprocessing: semaphores, conditions and events."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.waits import Key, make_signal, make_wait, success_is_result
from ticktree.recorder import Channel, Recorder, Wait, drop_own_frames


def lock_key(lock: Any) -> Key:
    """Return the same for a lock in every process: its system name; without one it is inherited, at its address."""
    key: Key = lock.__dict__.get("_ticktree_key")
    if key is not None:
        return key
    semaphore = lock._semlock
    name: str | None = semaphore.name
    return name or (os.getpid(), semaphore.handle)


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wrap the locks that are created from now on; acquiring a free one is no wait."""
    _wrap_semaphores(patches, recorder, module)
    conditions, events = Channel(recorder, "condition"), Channel(recorder, "event")
    for path, make in {
        "Condition.wait": make_wait(conditions, "Condition.wait", _condition_key, success=success_is_result),
        "Condition.notify": make_signal(conditions, _condition_key),
        "Event.wait": make_wait(events, "Event.wait", _event_key, success=success_is_result),
        "Event.set": make_signal(events, _event_key),
    }.items():
        patches.wrap_own(module, path, make)


def _wrap_semaphores(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    locks = Channel(recorder, "lock")
    wait = Wait(locks, "Lock.acquire")

    def make_methods(make: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            result = make(self)
            self._ticktree_key = lock_key(self)
            self.acquire = _make_acquire(self, wait)
            self.release = _make_release(self, locks)
            return result

        return wrapper

    def make_enter(_enter: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            return self.acquire()

        return wrapper

    patches.wrap_own(module, "SemLock._make_methods", make_methods)
    patches.wrap_own(module, "SemLock.__enter__", make_enter)
    patches.wrap_own(module, "SemLock.__exit__", make_signal(locks, lock_key))


def _condition_key(condition: Any) -> Key:
    return lock_key(condition._wait_semaphore)


def _event_key(event: Any) -> Key:
    return lock_key(event._flag)


def _make_acquire(lock: Any, wait: Wait) -> Callable[..., bool]:
    acquire = lock._semlock.acquire
    key = lock_key(lock)

    def wrapper(block: bool = True, timeout: float | None = None) -> bool:
        try:
            # A free lock costs no more than without this wrapper.
            if acquire(False):
                return True
            return bool(block and wait.call(acquire, (True, timeout), key, bool))
        except BaseException:
            drop_own_frames()
            raise

    return wrapper


def _make_release(lock: Any, locks: Channel) -> Callable[[], None]:
    release = lock._semlock.release
    key = lock_key(lock)

    def wrapper() -> None:
        try:
            locks.wakes(key)
            release()
        except BaseException:
            drop_own_frames()
            raise

    return wrapper
