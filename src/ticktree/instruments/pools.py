"""Tasks of pools: each is a section in the worker that runs it, with the name of the program's function.

A worker process of `multiprocessing.Pool` or of a `ProcessPoolExecutor` takes its tasks from a queue: a wrapper of
that queue puts the function of each into a section. A chunk of `map` is one task and one section, so that functions
that take a microsecond cost no more. Functions for a `ThreadPoolExecutor` are put into a section when they are
submitted. Data that is sent to another process is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from functools import partial
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Hook, Instrument
from ticktree.recorder import Recorder, Section, SubmittedCall, TimedFunction
from ticktree.recorder.hooks import runs_in_this_interpreter
from ticktree.recorder.site import site_of
from ticktree.recorder.wrapping import without_own_frames

# Functions of libraries that call the program's functions, and how to get those.
_CARRIERS: dict[str, Callable[[Any, tuple[Any, ...]], Any]] = {
    "multiprocessing.pool.mapstar": lambda _, args: args[0][0],
    "multiprocessing.pool.starmapstar": lambda _, args: args[0][0],
    "concurrent.futures.process._process_chunk": lambda _, args: args[0],
    "joblib.externals.loky.process_executor._process_chunk": lambda _, args: args[0],
    "joblib.parallel.BatchedCalls": lambda function, _: function.items[0][0],
    "joblib._parallel_backends.PoolManagerMixin._wrap_func_call": lambda _, args: args[0],
    "joblib._utils._TracebackCapturingWrapper": lambda function, _: function.func,
}
# No tasks: a pool uses the first to report that an iterable of tasks failed; gRPC's workers have own rows, as has each
# callback of a ROS executor's workers: one row for all would compare workers by different callbacks.
_NO_TASKS = ("multiprocessing.pool._helper_reraises_exception", "grpc.", "rclpy.task.Task", "ticktree.")
_MAX_CACHED = 1024


class Tasks:
    """The tasks of this process's workers."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sections: dict[str, Section] = {}
        # Of plain functions: timing a task of a microsecond must not cost another one. Decorated functions share their
        # code.
        self._cache: dict[tuple[Any, str], Section] = {}

    def time(self, function: Any, args: tuple[Any, ...] = ()) -> Any:
        """Return a task's function in a section; the function itself if it has one already."""
        try:
            if isinstance(function, TimedFunction):  # it has its function's code and name
                return function
            section = self._cache.get(_key(function))
            if section is not None:
                return TimedFunction(function, section)
            if _is_context_run(function):
                return self._in_context(function)
            if isinstance(function, partial) and _is_context_run(function.func):  # asyncio.to_thread
                return partial(self._in_context(function.func), *function.args, **function.keywords)
            task = _program_function(function, args)
            if isinstance(task, TimedFunction) or _full_name(task).startswith(_NO_TASKS):
                return function
            return TimedFunction(function, self._section(task))
        except Exception:  # a program's callable may do anything with its attributes
            return function

    def _in_context(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Put the section into the context in which the function runs: each context has its own stack."""

        @without_own_frames
        def run_timed(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            return run(self.time(function), *args, **kwargs)

        return run_timed

    def _section(self, function: Any) -> Section:
        name = _name(function).rpartition("<locals>.")[2]
        section = self._sections.get(name)
        if section is None:
            section = self._sections[name] = self._recorder.timed_section(name, site_of(function))
        if hasattr(function, "__code__") and len(self._cache) < _MAX_CACHED:
            self._cache[_key(function)] = section
        return section


def _program_function(function: Any, args: tuple[Any, ...]) -> Any:
    """Return the program's function that a task calls, directly or through libraries' functions."""
    while True:
        if isinstance(function, partial):
            function, args = function.func, (*function.args, *args)
        elif (unwrap := _CARRIERS.get(_full_name(function))) is not None:
            function, args = unwrap(function, args), ()
        else:
            return function


def _is_context_run(function: Any) -> bool:
    """Return whether it is `Context.run`, which calls its first argument."""
    return isinstance(getattr(function, "__self__", None), Context)


def _key(function: Any) -> tuple[Any, str]:
    return getattr(function, "__code__", None), getattr(function, "__qualname__", "")


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", "") or type(function).__qualname__)


def _full_name(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}.{_name(function)}"


class _TaskQueue:
    """A worker's queue, whose tasks have their functions in sections."""

    def __init__(self, queue: Any, time_task: Callable[[Any], Any]) -> None:
        self._queue, self._time_task = queue, time_task

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    @without_own_frames
    def get(self, *args: Any, **kwargs: Any) -> Any:
        """Return the next task; None if there are no more."""
        task = self._queue.get(*args, **kwargs)
        return task if task is None else self._time_task(task)


def _wrap_worker(name: str, time_task: Callable[[Tasks, Any], Any]) -> Hook:
    """Return a hook that wraps a module's function that takes tasks from a queue, its first argument."""

    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        tasks = Tasks(recorder)

        def make(work: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(queue: Any, /, *args: Any, **kwargs: Any) -> Any:
                return work(_TaskQueue(queue, partial(time_task, tasks)), *args, **kwargs)

            return wrapper

        patches.wrap_own(module, name, make)

    return wrap


def _time_pool_task(tasks: Tasks, task: Any) -> Any:
    job, number, function, args, kwargs = task
    return job, number, tasks.time(function, args), args, kwargs


def _time_executor_task(tasks: Tasks, item: Any) -> Any:
    item.fn = tasks.time(item.fn, item.args)
    return item


def _wrap_threads(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap `submit`: threads work below the section that submitted the function, and so is its section."""
    tasks = Tasks(recorder)

    def time(function: Any) -> Any:
        if type(function) is SubmittedCall:
            return SubmittedCall(tasks.time(function.function), function.given)
        return tasks.time(function)

    def make(submit: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            is_timed = recorder.recording and runs_in_this_interpreter(self)
            return submit(self, time(fn) if is_timed else fn, *args, **kwargs)

        return wrapper

    patches.wrap_own(module, "ThreadPoolExecutor.submit", make)


INSTRUMENT = Instrument(
    "",
    hooks={
        "multiprocessing.pool": _wrap_worker("worker", _time_pool_task),
        "concurrent.futures.process": _wrap_worker("_process_worker", _time_executor_task),
        "concurrent.futures.thread": _wrap_threads,
    },
)
# joblib's worker processes are loky's; its threads are those of `multiprocessing.pool`.
JOBLIB = Instrument(
    "joblib",
    tested=">=1.3.0,<1.7",
    hooks={"joblib.externals.loky.process_executor": _wrap_worker("_process_worker", _time_executor_task)},
    private=True,
)
