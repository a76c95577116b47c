"""Locks of multiprocessing: semaphores, conditions and events."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.recorder import Channel, Recorder, Wait, drop_own_frames

Key = str | tuple[int, int]


def key_of(lock: Any) -> Key:
    """The same for a lock in every process: its name in the system; one without is inherited, at its address."""
    known: Key | None = lock.__dict__.get("_ticktree_key")
    if known is not None:
        return known
    semaphore = lock._semlock
    return semaphore.name or (os.getpid(), semaphore.handle)


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the locks that are made from now on; waiting for one that is free is no wait."""
    _wrap_semaphores(patches, recorder, module)
    _wrap_conditions(patches, recorder, module)
    _wrap_events(patches, recorder, module)


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

    def make_exit(exit_: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any) -> Any:
            locks.wakes(key_of(self))
            return exit_(self, *args)

        return wrapper

    patches.wrap_own(module, "SemLock._make_methods", make_methods)
    patches.wrap_own(module, "SemLock.__enter__", make_enter)
    patches.wrap_own(module, "SemLock.__exit__", make_exit)


def _wrap_conditions(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    conditions = Channel(recorder, "condition")
    waiting = Wait(conditions, "Condition.wait")

    def make_wait(wait: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = None) -> Any:
            return waiting.call(wait, (self, timeout), _key_of_condition(self), bool)

        return wrapper

    def make_notify(notify: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            conditions.wakes(_key_of_condition(self))
            return notify(self, *args, **kwargs)

        return wrapper

    patches.wrap_own(module, "Condition.wait", make_wait)
    patches.wrap_own(module, "Condition.notify", make_notify)


def _wrap_events(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    events = Channel(recorder, "event")
    awaiting = Wait(events, "Event.wait")

    def make_wait(wait: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = None) -> Any:
            return awaiting.call(wait, (self, timeout), _key_of_event(self), bool)

        return wrapper

    def make_set(set_: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            events.wakes(_key_of_event(self))
            return set_(self)

        return wrapper

    patches.wrap_own(module, "Event.wait", make_wait)
    patches.wrap_own(module, "Event.set", make_set)


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
