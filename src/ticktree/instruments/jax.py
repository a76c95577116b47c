"""JAX: calls of jitted functions, their compilations and why there was another, executions, waits, callbacks.

A call of a jitted function hands work over and returns: its row says how long that took. The execution is a row below
it on the device's clock, from readiness that is checked when the program calls JAX anyway. Nothing here waits
for a device, and no large result lives longer than the program keeps it.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from copy import copy
from functools import lru_cache, partial, update_wrapper
from importlib import import_module
from types import MethodType, ModuleType
from typing import Any, NamedTuple

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, require_tested
from ticktree.instruments.ticks import unmarked_loop
from ticktree.recorder import Recorder, Section, drop_own_frames
from ticktree.recorder._native import Place
from ticktree.recorder.site import NO_SITE, site_of

TESTED = ">=0.10.2,<0.11"
LOOP = "jax step"
# A rule knows these by name (analysis/rules/torch.py): the rows of compiling, and the gauges of why there was another.
PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
RECOMPILED_GAUGE = "jax/compiled again/"
UNTIMED_GAUGE = "jax/executions not timed"
# Of how many functions it is kept what they were compiled for, and how many reasons are kept of each.
MOST_FUNCTIONS, MOST_REASONS = 256, 4
# The end of an execution lies between two looks: at most this share of what is booked may be unknown.
LARGEST_ERROR = 0.1
# A result of so few bytes is kept until it is there: programs forget the loss of a step before the step is done.
SMALL_BYTES, LEAVES_LOOKED_AT = 4096, 8
# After an execution as short as this the next ones are not timed: looking costs microseconds.
SHORT_NS, SKIPPED_AFTER_SHORT = 200_000, 31

# analysis/rules/workers.py knows it by name.
CALLBACKS_ROLE = "jax callbacks"
_CALLBACKS = {"jax.debug": "callback", "jax.experimental": "io_callback"}


class _Execution(NamedTuple):
    function: Jitted
    place: Place
    result: Callable[[], Any]  # one of the results, while there is one: all are there at once
    results: frozenset[int]  # the identities of all
    began_ns: int


class _Argument(NamedTuple):
    """What a function is compiled for, of one argument: by what it is of each leaf."""

    name: str
    structure: object
    facts: dict[str, Any]


class _Thread(threading.local):
    """What one thread is in, and what it has handed over that is not known to be done, the oldest first."""

    def __init__(self, recorder: Recorder) -> None:
        self.inside = self.waiting = self.known = False
        self.compiled = 0
        self.phases: list[tuple[str, Section]] = []
        self._recorder = recorder
        self._queue: deque[_Execution] = deque()
        self._batch: list[_Execution] = []
        self._began_ns = self._ended_ns = self._checked_ns = self._untimed = 0

    def add(self, execution: _Execution) -> None:
        """Take in what was handed over and is not done."""
        self._queue.append(execution)

    def look(self) -> None:
        """Book what is done; never waits."""
        done: list[_Execution] = []
        now_ns = time.perf_counter_ns() if self._queue else 0
        while self._queue and (state := _is_ready(self._queue[0].result())) is not False:
            done.append(self._queue.popleft())
            if state is None:  # when it was ready is not known
                self._give_up(done)
                done = []
        if done:
            self._finish(done, now_ns)
        self._checked_ns = now_ns

    def waited_for(self, results: set[int]) -> None:
        """The wait for these has ended: when the execution that they are of ended is known."""
        if any(not execution.results.isdisjoint(results) for execution in self._queue):
            self._checked_ns = time.perf_counter_ns()
        self.look()

    def _finish(self, done: list[_Execution], now_ns: int) -> None:
        """Several calls at one place are booked together, where of each alone the end is not known well enough."""
        if not self._batch:
            self._began_ns = max(done[0].began_ns, self._ended_ns)
        self._ended_ns = now_ns
        first, took_ns = (self._batch or done)[0], now_ns - self._began_ns
        if any((each.function, each.place.node) != (first.function, first.place.node) for each in done):
            self._give_up(done)
            return
        self._batch += done
        if now_ns - max(self._checked_ns, done[-1].began_ns) <= took_ns * LARGEST_ERROR:
            mean_ns = took_ns // len(self._batch)
            for execution in self._batch:
                self._recorder.book(execution.place, ("execution",), mean_ns, "device")
            first.function.untimed = SKIPPED_AFTER_SHORT if mean_ns < SHORT_NS else 0
            self._batch = []

    def _give_up(self, more: list[_Execution]) -> None:
        self._untimed += len(self._batch) + len(more)
        self._batch = []
        self._recorder.gauge(UNTIMED_GAUGE, self._untimed)


def _is_ready(result: Any) -> bool | None:
    """Whether a result is there; None where it is gone: forgotten, or given to a function that used its memory."""
    try:
        return None if result is None else bool(result.is_ready())
    except Exception:  # deleted, or its computation failed
        return None


class _Compilations:
    """What the function at one place in the program was compiled for, and why it was again."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: tuple[int, list[_Argument]] | None = None
        self._reasons: dict[str, int] = {}

    def note(self, recorder: Recorder, jitted: Jitted, arguments: list[_Argument]) -> None:
        """A call has compiled."""
        if self._last is not None:
            before = self._last
            why = "jax.jit is called again" if before[0] != id(jitted) else _difference(before[1], arguments)
            if why in self._reasons or len(self._reasons) < MOST_REASONS:
                self._reasons[why] = self._reasons.get(why, 0) + 1
                recorder.gauge(f"{RECOMPILED_GAUGE}{self._name}: {why}", self._reasons[why])
        self._last = id(jitted), arguments


def _difference(before: list[_Argument], after: list[_Argument]) -> str:
    """Return what differs between the arguments of two calls, as a reason to compile again."""
    if [each.name for each in before] != [each.name for each in after]:
        return "other arguments are given"
    for old, new in zip(before, after, strict=True):
        if old.structure != new.structure:
            return f"structures differ in {new.name}"
        for what in new.facts:
            if old.facts.get(what) != new.facts[what]:
                return f"{what} differ in {new.name}"
    return "its arguments are alike, its surroundings differ"


class Jitted:
    """What `jax.jit` gives, with a row for each call of it from outside of other such calls.

    What is not here is looked for in `jitted`, the function as JAX made it. `static` has positions and names of
    static arguments. So many of the next executions as `untimed` says are not to be timed.
    """

    def __init__(self, jax: _Jax, jitted: Any, function: Any, static: frozenset[int | str]) -> None:
        update_wrapper(self, jitted)
        self._jax = jax
        self._jitted = jitted
        self._static = static
        self._name = str(getattr(function, "__name__", type(function).__name__))
        self._section = jax.recorder.timed_section(f"jit {self._name}", site_of(function))
        code = getattr(function, "__code__", None)
        self._parameters = code.co_varnames[: code.co_argcount] if code is not None else ()
        self._where = (self._name, getattr(code, "co_filename", ""), getattr(code, "co_firstlineno", 0))
        self._calls = self.untimed = 0

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it, in its section."""
        thread = self._jax.thread
        if thread.inside or not self._jax.recorder.recording:
            return self._jitted(*args, **kwargs)
        thread.look()
        self._calls += 1
        if self._calls > 1:  # what is called once, as to make parameters, is no loop
            self._jax.ticks.begins(self)
        thread.inside, thread.compiled = True, 0
        try:
            with self._section:
                began_ns = self._jax.began_ns = time.perf_counter_ns()
                self._jax.place = self._jax.recorder.place()
                result = self._jitted(*args, **kwargs)
                self._hand_over(thread, result, began_ns)
        except BaseException:
            drop_own_frames()
            raise
        finally:
            thread.inside = False
        if thread.compiled:
            self._jax.compilations(self._where).note(self._jax.recorder, self, self._described(args, kwargs))
        return result

    def _hand_over(self, thread: _Thread, result: Any, began_ns: int) -> None:
        if self.untimed:
            self.untimed -= 1
            return
        leaves = self._jax.tree.leaves(result)
        arrays = [leaf for leaf in leaves[-LEAVES_LOOKED_AT:] if hasattr(leaf, "is_ready")]
        if not arrays or _is_ready(arrays[-1]) is not False:
            return
        smallest = min(arrays, key=lambda array: int(array.nbytes))
        kept = (lambda: smallest) if smallest.nbytes <= SMALL_BYTES else weakref.ref(smallest)
        if thread.compiled:  # the call began with compiling
            began_ns = time.perf_counter_ns()
        place = self._jax.recorder.place()
        thread.add(_Execution(self, place, kept, frozenset(map(id, leaves)), began_ns))

    def _described(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[_Argument]:
        described = []
        given: list[tuple[int | str, Any]] = [*enumerate(args), *sorted(kwargs.items())]
        for where, argument in given:
            parameter: int | str = where
            name = f"argument {where}"
            if isinstance(where, int):
                parameter = self._parameters[where] if where < len(self._parameters) else where
                name = f"argument {where + 1} ({parameter})"
            if where in self._static or parameter in self._static:
                described.append(_Argument(name, None, {"values": repr(argument)[:200]}))
                continue
            leaves, structure = self._jax.tree.flatten(argument)
            facts = {
                "shapes": [getattr(leaf, "shape", ()) for leaf in leaves],
                "types": [getattr(leaf, "dtype", type(leaf)) for leaf in leaves],
                "weak types": [getattr(leaf, "weak_type", False) for leaf in leaves],
                "places": [str(getattr(leaf, "sharding", None)) for leaf in leaves],
            }
            described.append(_Argument(name, structure, facts))
        return described

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_jitted"), name)

    def __repr__(self) -> str:
        return repr(self._jitted)

    def __reduce__(self) -> Any:
        return copy, (self._jitted,)  # another process wraps its own


class _Jax:
    """What the wrapped functions of one installation share."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.thread = _Thread(recorder)
        self.ticks = unmarked_loop(recorder, LOOP)
        # The latest call of a jitted function, below which is booked what its callbacks tell of it.
        self.place: Place | None = None
        self.began_ns = 0
        self._compilations: dict[Any, _Compilations] = {}
        self._threads: dict[int, int] = {}

    @property
    def tree(self) -> Any:
        """`jax.tree`."""
        return sys.modules["jax"].tree

    def compilations(self, where: tuple[str, str, int]) -> _Compilations:
        """Return those of the function at a place in the program."""
        if where not in self._compilations and len(self._compilations) >= MOST_FUNCTIONS:
            return _Compilations(where[0])
        return self._compilations.setdefault(where, _Compilations(where[0]))

    def make_jit(self, jit: Callable[..., Any]) -> Callable[..., Any]:
        """Make `jax.jit`, which without a function returns a decorator."""

        def made(*functions: Any, **options: Any) -> Any:
            if not functions:
                return lambda function: made(function, **options)
            static = (options.get("static_argnums"), options.get("static_argnames"))
            flat = [
                part for each in static for part in (each if isinstance(each, (tuple, list)) else (each,))
            ]
            return Jitted(self, jit(*functions, **options), functions[0], frozenset(filter(_is_there, flat)))

        return made

    def phase_begins(self, event: str, _: float, **more: Any) -> None:
        """A phase of a compilation begins."""
        if event in PHASES:
            name = str(more.get("fun_name", "")).removeprefix("jit(").removesuffix(")")
            section = self.recorder.section(f"{PHASES[event]} {name}")
            self.thread.phases.append((event, section))
            section.__enter__()

    def phase_ended(self, event: str, _: float, **__: Any) -> None:
        """It has ended."""
        if event in PHASES and self.thread.phases and self.thread.phases[-1][0] == event:
            self.thread.phases.pop()[1].__exit__(None, None, None)
            self.thread.compiled += PHASES[event] == "compile"

    def make_wait(self, name: str) -> Callable[..., Any]:
        """Make what makes a function a wait for the results that it is given."""
        section = self.recorder.timed_section(name, NO_SITE, wait=True)

        def make(function: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(value: Any, /, *args: Any, **kwargs: Any) -> Any:
                if self.thread.waiting:
                    return function(value, *args, **kwargs)
                self.thread.look()
                self.thread.waiting = True
                try:
                    with section:
                        result = function(value, *args, **kwargs)
                except BaseException:
                    drop_own_frames()
                    raise
                finally:
                    self.thread.waiting = False
                self.thread.waited_for(set(map(id, self.tree.leaves(value))))
                return result

            return wrapper

        return make

    def make_callback(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """Make what has the device call back a function of the program; the rows are of the thread that calls it."""

        def asking(callback: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not callable(callback):
                return ask(callback, *args, **kwargs)
            name = str(getattr(callback, "__name__", type(callback).__name__))
            section = self.recorder.timed_section(f"callback {name}", site_of(callback))
            before_ns = 0

            def recorded(*values: Any, **named: Any) -> Any:
                nonlocal before_ns
                self._meet_thread()
                before_ns, last_ns = time.perf_counter_ns(), before_ns
                if self.place is not None and last_ns > self.began_ns:
                    # No loop: the runtime calls from whichever of its threads is free, and a loop is of one thread.
                    self.recorder.book(self.place, (f"between callbacks {name}",), before_ns - last_ns)
                with section:
                    return callback(*values, **named)

            return ask(update_wrapper(recorded, callback), *args, **kwargs)

        return asking

    def _meet_thread(self) -> None:
        """Give a thread of the runtime a role: no worker like the main thread, nor like another one of them.

        To Python it is a new thread in every callback: one of a role that has ended gives its rows to the next.
        """
        if not self.thread.known and threading.current_thread() is not threading.main_thread():
            number = self._threads.setdefault(threading.get_native_id(), len(self._threads) + 1)
            self.recorder.role(f"{CALLBACKS_ROLE} {number}")
        self.thread.known = True


def _is_there(value: object) -> bool:
    return value is not None


@lru_cache(maxsize=1)
def _shared(recorder: Recorder) -> _Jax:
    return _Jax(recorder)


def _wrap(patches: Patches, jax: ModuleType, recorder: Recorder) -> None:
    shared = _shared(recorder)
    monitoring = import_module("jax.monitoring")
    patches.wrap(jax, "jit", shared.make_jit)
    patches.wrap(jax, "block_until_ready", shared.make_wait("block_until_ready"))
    patches.wrap(jax, "device_get", shared.make_wait("copy to host"))
    monitoring.register_scalar_listener(shared.phase_begins)
    patches.on_undo(partial(monitoring.unregister_scalar_listener, shared.phase_begins))
    monitoring.register_event_duration_secs_listener(shared.phase_ended)
    patches.on_undo(partial(monitoring.unregister_event_duration_listener, shared.phase_ended))


def _wrap_arrays(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """The methods of arrays: `float`, `item`, `tolist` and what numpy copies ask for `_value`."""
    require_tested("jax", TESTED)
    shared, array, copied = _shared(recorder), module.ArrayImpl, module.ArrayImpl._value.fget
    waiting = shared.make_wait("block_until_ready")(array.block_until_ready)
    waiting.__name__, waiting.__doc__ = "block_until_ready", array.block_until_ready.__doc__
    patches.put(array, "block_until_ready", waiting)  # JAX's has no name that a function could have
    copying = shared.make_wait("copy to host")(copied)

    def _value(self: Any) -> Any:
        return copied(self) if self._npy_value is not None else copying(self)

    patches.put(array, "_value", property(_value, doc=copied.__doc__))


def _wrap_callbacks(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    patches.wrap(module, _CALLBACKS[module.__name__], _shared(recorder).make_callback)


INSTRUMENT = Instrument(
    "jax",
    tested=TESTED,
    hooks={"jax": _wrap, "jax._src.array": _wrap_arrays, **dict.fromkeys(_CALLBACKS, _wrap_callbacks)},
)
