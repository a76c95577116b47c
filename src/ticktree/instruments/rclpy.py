"""rclpy: timers of ROS 2 nodes as loops, callbacks as sections, lateness of timers, ages of messages.

Three functions suffice, the same in every version since Humble: `Executor.wait_for_ready_callbacks` tells which
entity of which node a task is for; `Task.__call__` runs it, if its callback group lets it; `await_or_execute` calls
the program's callback. Only this call shows that a callback runs, and with which message.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType, coroutine
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.recorder import Loop, Recorder, Section, drop_own_frames, in_tick, is_inside
from ticktree.recorder.site import NO_SITE, site_of
from ticktree.recorder.timed import timed_generator

EXECUTOR_WAIT = "executor wait"
LATENESS, AGE = "lateness ms", "message age ms"  # of gauges, after the callback's name

_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000


class _ThreadState(threading.local):
    """The state of one thread: the callback that it is about to run, and the loop whose ticks fill its time.

    A tick of that loop lasts from one call of its timer to the next, including the executor's wait and other
    callbacks, which make a timer late. The loop is the fastest timer's, whose calls would cut any other's ticks short.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._loop: Loop[Any] | None = None
        self._timer: tuple[str, float] = ("", 0.0)
        self._was_cut_short = False
        self.call: _Call | None = None

    def begin_tick(self, name: str, hz: float) -> bool:
        """Begin a tick that lasts until the next of its loop; return False if such a tick does not fit here."""
        if self._loop is not None and self._timer == (name, hz) and in_tick(self._recorder):
            next(self._loop)
            return True
        if self._loop is not None and not in_tick(self._recorder):
            self._was_cut_short = True  # the section around it has ended it, as it will again
            self.end_tick()
        if self._loop is not None:
            if hz <= self._timer[1]:
                return False
            self.end_tick()
        if in_tick(self._recorder) or (self._was_cut_short and is_inside(self._recorder)):
            return False
        self._timer, self._loop = (name, hz), self._recorder.loop(name, hz=hz)
        next(self._loop)
        return True

    def end_tick(self, name: str | None = None) -> None:
        """End the open tick, if it is one of `name`."""
        if self._loop is not None and name in (None, self._timer[0]):
            self._loop.close()
            self._loop, self._timer = None, ("", 0.0)


class _Callback(NamedTuple):
    """An entity's callback; its name consists of the node's and the function's."""

    name: str
    section: Section
    is_timer: bool


class _Call(NamedTuple):
    """A callback that is about to be called, for a node's timer, subscription, service or other entity."""

    callback: _Callback
    entity: Any
    node: Any
    spinner: int  # the thread that waits for callbacks
    late_ns: int | None = None  # how long ago a timer was due


class _Callbacks:
    """The callbacks of one process, by their entities."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._callbacks: WeakKeyDictionary[Any, _Callback | None] = WeakKeyDictionary()
        self._details: dict[str, str] = {}

    def get(self, entity: Any, node: Any) -> _Callback | None:
        """Return an entity's callback; None if it has none of the program's."""
        try:
            return self._callbacks[entity]
        except KeyError:
            callback = self._callbacks[entity] = self._make(entity, node)
            return callback

    def _make(self, entity: Any, node: Any) -> _Callback | None:
        function = getattr(entity, "callback", None)
        while isinstance(function, partial):
            function = function.func
        # A rate has a timer too: its callback wakes the thread that sleeps.
        if not callable(function) or isinstance(getattr(function, "__self__", None), threading.Event):
            return None
        function_name = str(getattr(function, "__name__", type(function).__name__))
        is_timer = hasattr(entity, "timer_period_ns")
        detail = f"{_hz(entity) or 0:.4g} Hz" if is_timer else _topic(entity)
        name = f"{node.get_name()}.{function_name}"
        if self._details.setdefault(name, detail) != detail:  # lambdas; one callback for several topics
            name = f"{name} ({detail})"
        section = self._recorder.timed_section(function_name if is_timer else name, site_of(function))
        return _Callback(name, section, is_timer)


def _topic(entity: Any) -> str:
    name = getattr(entity, "topic", None) or getattr(entity, "srv_name", None)
    return str(name or type(entity).__name__)


def _hz(timer: Any) -> float | None:
    """Return the rate of a timer; None if it has no period, or was destroyed."""
    with suppress(Exception):
        period_ns = timer.timer_period_ns
        return _NS_PER_S / period_ns if period_ns > 0 else None
    return None


def _late_ns(timer: Any) -> int | None:
    """Return how long ago a timer was due, by its own clock: valid only before the executor calls it."""
    with suppress(Exception):
        remaining_ns = timer.time_until_next_call()
        return -int(remaining_ns) if remaining_ns is not None and remaining_ns <= 0 else None
    return None


def _age_ns(message: Any, node: Any) -> int | None:
    """Return how long ago a message was stamped, by the node's clock; None for a message without a stamp."""
    with suppress(Exception):
        stamp = message.header.stamp
        stamped_ns = int(stamp.sec) * _NS_PER_S + int(stamp.nanosec)
        return int(node.get_clock().now().nanoseconds) - stamped_ns if stamped_ns else None
    return None


def _is_over(timer: Any) -> bool:
    """Return whether a timer is not called again, or only after a reset: it may be cancelled in its first call."""
    try:
        return bool(timer.is_canceled())
    except Exception:  # destroyed
        return True


def _is_ok(node: Any) -> bool:
    """Return whether a node's callbacks are called again: not after `rclpy.shutdown`."""
    with suppress(Exception):
        return bool(node.context.ok())
    return True


class _ExecutorCalls:
    """Records the calls of executors."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._callbacks = _Callbacks(recorder)
        self._thread = _ThreadState(recorder)
        self._wait = recorder.timed_section(EXECUTOR_WAIT, NO_SITE, wait=True)
        self._calls: WeakKeyDictionary[Any, _Call] = WeakKeyDictionary()  # by task

    def make_wait(self, harmless: tuple[type[BaseException], ...]) -> Callable[..., Any]:
        """Make `wait_for_ready_callbacks` a wait; exceptions end the loop, except those after which it continues."""

        def make(wait: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(executor: Any, *args: Any, **kwargs: Any) -> Any:
                try:
                    with self._wait:
                        ready = wait(executor, *args, **kwargs)
                except harmless:
                    raise
                except BaseException:
                    self._thread.end_tick()
                    raise
                with suppress(Exception):
                    self._note(*ready)
                return ready

            return wrapper

        return make

    def _note(self, task: Any, entity: Any, node: Any) -> None:
        callback = self._callbacks.get(entity, node) if entity is not None and node is not None else None
        if callback is not None:
            self._calls[task] = _Call(callback, entity, node, threading.get_ident())

    def make_run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Make `Task.__call__` tell `await_or_execute` whose callback it runs, if it runs one."""

        def wrapper(task: Any, *args: Any, **kwargs: Any) -> Any:
            call = self._calls.pop(task, None)
            if call is None:
                return run(task, *args, **kwargs)
            if call.callback.is_timer:
                call = call._replace(late_ns=_late_ns(call.entity))
            before, self._thread.call = self._thread.call, call
            try:
                return run(task, *args, **kwargs)
            finally:
                self._thread.call = before
                if not _is_ok(call.node):
                    self._thread.end_tick()
                elif call.callback.is_timer and _is_over(call.entity):
                    self._thread.end_tick(call.callback.name)

        return wrapper

    def make_execute(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        """Make `await_or_execute` record the callback that it calls."""

        async def wrapper(callback: Any, *args: Any) -> Any:
            call, self._thread.call = self._thread.call, None
            if call is None or not self._recorder.recording:
                return await execute(callback, *args)
            return await execute(self._record(callback, call), *args)

        return wrapper

    def _record(self, function: Callable[..., Any], call: _Call) -> Callable[..., Any]:
        """Return a function that records one call of a callback: of the same kind, which the executor checks."""
        from inspect import iscoroutinefunction  # here, because it would cost programs without callbacks 9 ms

        if iscoroutinefunction(function):
            # It may be suspended, and continue on another thread: each resumption is a call.
            generator = timed_generator(lambda *args: function(*args).__await__(), call.callback.section)
            timed: Callable[..., Any] = coroutine(generator)

            async def run_coroutine(*args: Any) -> Any:
                try:
                    self._begin(call, args)
                    return await timed(*args)
                except BaseException:
                    drop_own_frames()
                    raise

            return run_coroutine

        def run(*args: Any) -> Any:
            try:
                if self._begin(call, args):
                    with call.callback.section:
                        return function(*args)
                for _ in self._recorder.loop(call.callback.name, (None,), _hz(call.entity)):
                    with call.callback.section:
                        result = function(*args)
                return result
            except BaseException:
                drop_own_frames()
                raise

        return run

    def _begin(self, call: _Call, args: tuple[Any, ...]) -> bool:
        """Note a timer's lateness or a message's age; return False if the call is to be a tick by itself."""
        callback, recorder = call.callback, self._recorder
        if not callback.is_timer:
            age_ns = _age_ns(args[0], call.node) if args else None
            if age_ns is not None:
                recorder.gauge(f"{callback.name} {AGE}", age_ns / _NS_PER_MS)
            return True
        if call.late_ns is not None:
            recorder.gauge(f"{callback.name} {LATENESS}", call.late_ns / _NS_PER_MS)
        hz = _hz(call.entity)
        if hz is None:
            return True
        # In a worker of a MultiThreadedExecutor the time between two calls belongs to no callback: it makes none late.
        return call.spinner == threading.get_ident() and self._thread.begin_tick(callback.name, hz)


def _wrap_executors(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    calls = _ExecutorCalls(recorder)
    harmless = (module.TimeoutException, module.ConditionReachedException)
    patches.wrap(module, "Executor.wait_for_ready_callbacks", calls.make_wait(harmless))
    patches.wrap(module, "Task.__call__", calls.make_run)
    patches.wrap(module, "await_or_execute", calls.make_execute)


INSTRUMENT = Instrument(
    "rclpy",
    tested=">=3.3.13,<8.1",
    targets=[
        Target("rclpy.timer:Rate.sleep", "Rate.sleep", wait=True),
        Target("rclpy.clock:Clock.sleep_until", "Clock.sleep_until", wait=True),
        Target("rclpy.publisher:Publisher.publish", "publish"),
    ],
    hooks={"rclpy.executors": _wrap_executors},
)
