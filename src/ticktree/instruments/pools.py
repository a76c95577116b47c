"""Tasks of pools: each is a section in the worker that does it, named after the program's function.

A worker process of `multiprocessing.Pool` or of a `ProcessPoolExecutor` takes its tasks from a queue: a
wrapper of that queue puts the function of each into a section. A chunk of `map` is one task and one section:
a pool of functions that take a microsecond costs what it did. What a `ThreadPoolExecutor` is given is put
into one where it is submitted. What is sent to another process is as it was.
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
from ticktree.recorder.hooks import works_here
from ticktree.recorder.site import site_of
from ticktree.recorder.wrapping import leaving_no_frames

# Functions of libraries that call what the program gave them, and where that is.
_CARRIERS: dict[str, Callable[[Any, tuple[Any, ...]], Any]] = {
    "multiprocessing.pool.mapstar": lambda _, args: args[0][0],
    "multiprocessing.pool.starmapstar": lambda _, args: args[0][0],
    "concurrent.futures.process._process_chunk": lambda _, args: args[0],
    "joblib.externals.loky.process_executor._process_chunk": lambda _, args: args[0],
    "joblib.parallel.BatchedCalls": lambda function, _: function.items[0][0],
    "joblib._parallel_backends.PoolManagerMixin._wrap_func_call": lambda _, args: args[0],
    "joblib._utils._TracebackCapturingWrapper": lambda function, _: function.func,
}
# No tasks: with the first a pool reports that an iterable of tasks failed; gRPC's workers have own rows, as has each
# callback that a ROS executor gives to workers: in one row, workers would be compared by unlike callbacks.
_NO_TASKS = ("multiprocessing.pool._helper_reraises_exception", "grpc.", "rclpy.task.Task", "ticktree.")
_MOST_KNOWN = 1024


class Tasks:
    """What workers of this process are given to do."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sections: dict[str, Section] = {}
        # Of plain functions: a task of a microsecond must not cost another one. Decorated ones share their code.
        self._known: dict[tuple[Any, str], Section] = {}

    def timed(self, function: Any, args: tuple[Any, ...] = ()) -> Any:
        """Return what is called in place of a task's function; the function itself where it is a section already."""
        try:
            if isinstance(function, TimedFunction):  # which has its function's code and name
                return function
            section = self._known.get(_key(function))
            if section is not None:
                return TimedFunction(function, section)
            if _is_context_run(function):
                return self._in_context(function)
            if isinstance(function, partial) and _is_context_run(function.func):  # asyncio.to_thread
                return partial(self._in_context(function.func), *function.args, **function.keywords)
            called = _called(function, args)
            if isinstance(called, TimedFunction) or _full_name(called).startswith(_NO_TASKS):
                return function
            return TimedFunction(function, self._section(called))
        except Exception:  # whatever a program's callable makes of its attributes
            return function

    def _in_context(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """The section must be in the context that the function runs in: each context has its own stack."""

        @leaving_no_frames
        def run_timed(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            return run(self.timed(function), *args, **kwargs)

        return run_timed

    def _section(self, function: Any) -> Section:
        name = _name(function).rpartition("<locals>.")[2]
        section = self._sections.get(name)
        if section is None:
            section = self._sections[name] = self._recorder.timed_section(name, site_of(function))
        if hasattr(function, "__code__") and len(self._known) < _MOST_KNOWN:
            self._known[_key(function)] = section
        return section


def _called(function: Any, args: tuple[Any, ...]) -> Any:
    """The program's function, whatever calls it."""
    while True:
        if isinstance(function, partial):
            function, args = function.func, (*function.args, *args)
        elif (carrier := _CARRIERS.get(_full_name(function))) is not None:
            function, args = carrier(function, args), ()
        else:
            return function


def _is_context_run(function: Any) -> bool:
    """Whether it is `Context.run`, which calls its first argument."""
    return isinstance(getattr(function, "__self__", None), Context)


def _key(function: Any) -> tuple[Any, str]:
    return getattr(function, "__code__", None), getattr(function, "__qualname__", "")


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", "") or type(function).__qualname__)


def _full_name(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}.{_name(function)}"


class _TaskQueue:
    """A queue as its worker sees it: its tasks have their functions in sections."""

    def __init__(self, queue: Any, timed: Callable[[Any], Any]) -> None:
        self._queue, self._timed = queue, timed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    @leaving_no_frames
    def get(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the next task; None: there is no more."""
        task = self._queue.get(*args, **kwargs)
        return task if task is None else self._timed(task)


def _worker(name: str, timed: Callable[[Tasks, Any], Any]) -> Hook:
    """Return what wraps a module's function that takes tasks from a queue, its first argument."""

    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        tasks = Tasks(recorder)

        def make(work: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(queue: Any, /, *args: Any, **kwargs: Any) -> Any:
                return work(_TaskQueue(queue, partial(timed, tasks)), *args, **kwargs)

            return wrapper

        patches.wrap_own(module, name, make)

    return wrap


def _of_pool(tasks: Tasks, task: Any) -> Any:
    job, number, function, args, kwargs = task
    return job, number, tasks.timed(function, args), args, kwargs


def _of_executor(tasks: Tasks, item: Any) -> Any:
    """Return what a worker of an executor takes from its queue, with the function in a section."""
    item.fn = tasks.timed(item.fn, item.args)
    return item


def _wrap_threads(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wraps the giving of work, for which threads hang where it was given: the section is below that."""
    tasks = Tasks(recorder)

    def timed(function: Any) -> Any:
        if type(function) is SubmittedCall:
            return SubmittedCall(tasks.timed(function.function), function.given)
        return tasks.timed(function)

    def make(submit: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            is_timed = recorder.recording and works_here(self)
            return submit(self, timed(fn) if is_timed else fn, *args, **kwargs)

        return wrapper

    patches.wrap_own(module, "ThreadPoolExecutor.submit", make)


INSTRUMENT = Instrument(
    "",
    hooks={
        "multiprocessing.pool": _worker("worker", _of_pool),
        "concurrent.futures.process": _worker("_process_worker", _of_executor),
        "concurrent.futures.thread": _wrap_threads,
    },
)
# joblib's worker processes are loky's; its threads are those of `multiprocessing.pool`.
JOBLIB = Instrument(
    "joblib",
    tested=">=1.3.0,<1.7",
    hooks={"joblib.externals.loky.process_executor": _worker("_process_worker", _of_executor)},
    private=True,
)
