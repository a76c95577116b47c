"""Locks of multiprocessing: semaphores, conditions and events."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.waits import Key, by_result, signalling, waiting
from ticktree.recorder import Channel, Recorder, Wait, drop_own_frames


def key_of(lock: Any) -> Key:
    """The same for a lock in every process: its name in the system; one without is inherited, at its address."""
    known: Key = lock.__dict__.get("_ticktree_key")
    if known is not None:
        return known
    semaphore = lock._semlock
    name: str | None = semaphore.name
    return name or (os.getpid(), semaphore.handle)


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the locks that are made from now on; waiting for one that is free is no wait."""
    _wrap_semaphores(patches, recorder, module)
    conditions, events = Channel(recorder, "condition"), Channel(recorder, "event")
    for path, make in {
        "Condition.wait": waiting(conditions, "Condition.wait", _key_of_condition, came=by_result),
        "Condition.notify": signalling(conditions, _key_of_condition),
        "Event.wait": waiting(events, "Event.wait", _key_of_event, came=by_result),
        "Event.set": signalling(events, _key_of_event),
    }.items():
        patches.wrap_own(module, path, make)


def _wrap_semaphores(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    locks = Channel(recorder, "lock")
    acquiring = Wait(locks, "Lock.acquire")

    def make_methods(make: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            result = make(self)
            self._ticktree_key = key_of(self)
            self.acquire = _acquire_of(self, acquiring)
            self.release = _release_of(self, locks)
            return result

        return wrapper

    def make_enter(_enter: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            return self.acquire()

        return wrapper

    patches.wrap_own(module, "SemLock._make_methods", make_methods)
    patches.wrap_own(module, "SemLock.__enter__", make_enter)
    patches.wrap_own(module, "SemLock.__exit__", signalling(locks, key_of))


def _key_of_condition(condition: Any) -> Key:
    return key_of(condition._wait_semaphore)


def _key_of_event(event: Any) -> Key:
    return key_of(event._flag)


def _acquire_of(lock: Any, acquiring: Wait) -> Callable[..., bool]:
    acquire = lock._semlock.acquire
    key = key_of(lock)

    def wrapper(block: bool = True, timeout: float | None = None) -> bool:
        try:
            # One that is free costs no more than it did.
            if acquire(False):
                return True
            if not block:
                return False
            taken: bool = acquiring.call(acquire, (True, timeout), key, bool)
            return taken
        except BaseException:
            drop_own_frames()
            raise

    return wrapper


def _release_of(lock: Any, locks: Channel) -> Callable[[], None]:
    release = lock._semlock.release
    key = key_of(lock)

    def wrapper() -> None:
        try:
            locks.wakes(key)
            release()
        except BaseException:
            drop_own_frames()
            raise

    return wrapper
