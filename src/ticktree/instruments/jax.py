"""JAX: calls of jitted functions, their compilations with the reason for a further one, executions, waits, callbacks.

A call of a jitted function hands work over and returns: its row shows how long that took. The execution is a row below
it on the device's clock, from readiness that is checked when the program calls JAX anyway. This module never waits
for a device, and no large result lives longer because of it.
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
# A rule knows these names (analysis/rules/torch.py): rows of compiling, and gauges of the reasons to compile again.
PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
RECOMPILED_GAUGE = "jax/compiled again/"
UNTIMED_GAUGE = "jax/executions not timed"
# For so many functions the arguments of the last compilation are stored, and so many reasons per function.
MAX_FUNCTIONS, MAX_REASONS = 256, 4
# The end of an execution lies between two checks: at most this share of the booked time may be unknown.
MAX_ERROR = 0.1
# Results of up to so many bytes stay referenced until they are ready: programs drop the loss of a step before the step
# is done.
SMALL_BYTES, MAX_CHECKED_LEAVES = 4096, 8
# After an execution as short as this the next ones are not timed: a check costs microseconds.
SHORT_NS, SKIPPED_AFTER_SHORT = 200_000, 31

# analysis/rules/workers.py knows this name.
CALLBACKS_ROLE = "jax callbacks"
_CALLBACKS = {"jax.debug": "callback", "jax.experimental": "io_callback"}


class _Execution(NamedTuple):
    function: JittedFunction
    place: Place
    get_result: Callable[[], Any]  # one of the results, or None if it is gone: all are ready at once
    result_ids: frozenset[int]  # of all results
    began_ns: int


class _Argument(NamedTuple):
    """The properties of one argument, by property of its leaves, for which a function is compiled."""

    name: str
    structure: object
    properties: dict[str, Any]


class _Thread(threading.local):
    """The state of one thread, and the executions that it started and that may be unfinished, the oldest first."""

    def __init__(self, recorder: Recorder) -> None:
        self.is_in_call = self.is_waiting = self.has_role = False
        self.compilations = 0
        self.phases: list[tuple[str, Section]] = []
        self._recorder = recorder
        self._queue: deque[_Execution] = deque()
        self._batch: list[_Execution] = []
        self._began_ns = self._ended_ns = self._checked_ns = self._untimed = 0

    def add(self, execution: _Execution) -> None:
        """Add an execution that is not done."""
        self._queue.append(execution)

    def book_done(self) -> None:
        """Book the executions that are done; never waits."""
        done: list[_Execution] = []
        now_ns = time.perf_counter_ns() if self._queue else 0
        while self._queue and (is_ready := _is_ready(self._queue[0].get_result())) is not False:
            done.append(self._queue.popleft())
            if is_ready is None:  # it is unknown when it was ready
                self._give_up(done)
                done = []
        if done:
            self._book(done, now_ns)
        self._checked_ns = now_ns

    def end_wait(self, result_ids: set[int]) -> None:
        """Note that a wait for results has ended: now the end of their execution is known."""
        if any(not execution.result_ids.isdisjoint(result_ids) for execution in self._queue):
            self._checked_ns = time.perf_counter_ns()
        self.book_done()

    def _book(self, done: list[_Execution], now_ns: int) -> None:
        """Book executions; several of one function and node together, if the end of each is not known well enough."""
        if not self._batch:
            self._began_ns = max(done[0].began_ns, self._ended_ns)
        self._ended_ns = now_ns
        first, took_ns = (self._batch or done)[0], now_ns - self._began_ns
        if any((x.function, x.place.node) != (first.function, first.place.node) for x in done):
            self._give_up(done)
            return
        self._batch += done
        if now_ns - max(self._checked_ns, done[-1].began_ns) <= took_ns * MAX_ERROR:
            mean_ns = took_ns // len(self._batch)
            for execution in self._batch:
                self._recorder.book(execution.place, ("execution",), mean_ns, "device")
            first.function.skip_count = SKIPPED_AFTER_SHORT if mean_ns < SHORT_NS else 0
            self._batch = []

    def _give_up(self, executions: list[_Execution]) -> None:
        self._untimed += len(self._batch) + len(executions)
        self._batch = []
        self._recorder.gauge(UNTIMED_GAUGE, self._untimed)


def _is_ready(result: Any) -> bool | None:
    """Return whether a result is ready; None if it is gone: dropped, or donated to a function that used its memory."""
    try:
        return None if result is None else bool(result.is_ready())
    except Exception:  # deleted, or its computation failed
        return None


class _Compilations:
    """The arguments for which one function of the program was compiled, and the reasons why it was compiled again."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: tuple[int, list[_Argument]] | None = None
        self._reasons: dict[str, int] = {}

    def note(self, recorder: Recorder, jitted: JittedFunction, arguments: list[_Argument]) -> None:
        """Note that a call has compiled."""
        if self._last is not None:
            last_id, last_arguments = self._last
            again = last_id != id(jitted)
            reason = "jax.jit is called again" if again else _difference(last_arguments, arguments)
            if reason in self._reasons or len(self._reasons) < MAX_REASONS:
                self._reasons[reason] = self._reasons.get(reason, 0) + 1
                recorder.gauge(f"{RECOMPILED_GAUGE}{self._name}: {reason}", self._reasons[reason])
        self._last = id(jitted), arguments


def _difference(before: list[_Argument], after: list[_Argument]) -> str:
    """Return the difference between the arguments of two calls, as a reason to compile again."""
    if [argument.name for argument in before] != [argument.name for argument in after]:
        return "other arguments are given"
    for old, new in zip(before, after, strict=True):
        if old.structure != new.structure:
            return f"structures differ in {new.name}"
        for name in new.properties:
            if old.properties.get(name) != new.properties[name]:
                return f"{name} differ in {new.name}"
    return "its arguments are alike, its surroundings differ"


class JittedFunction:
    """The result of `jax.jit`, with a row for each call that no other such call contains.

    Attributes that it does not have are those of `jitted`, the function that JAX returned. `static` has positions and
    names of static arguments. The next `skip_count` executions are not timed.
    """

    def __init__(self, jax: _JaxState, jitted: Any, function: Any, static: frozenset[int | str]) -> None:
        update_wrapper(self, jitted)
        self._jax = jax
        self._jitted = jitted
        self._static = static
        self._name = str(getattr(function, "__name__", type(function).__name__))
        self._section = jax.recorder.timed_section(f"jit {self._name}", site_of(function))
        code = getattr(function, "__code__", None)
        self._parameters = code.co_varnames[: code.co_argcount] if code is not None else ()
        self._definition = (self._name, getattr(code, "co_filename", ""), getattr(code, "co_firstlineno", 0))
        self._calls = self.skip_count = 0

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it, in its section."""
        thread = self._jax.thread
        if thread.is_in_call or not self._jax.recorder.recording:
            return self._jitted(*args, **kwargs)
        thread.book_done()
        self._calls += 1
        if self._calls > 1:  # a function that is called once, say to make parameters, is no loop
            self._jax.ticks.begins(self)
        thread.is_in_call, thread.compilations = True, 0
        try:
            with self._section:
                began_ns = self._jax.began_ns = time.perf_counter_ns()
                self._jax.place = self._jax.recorder.place()
                result = self._jitted(*args, **kwargs)
                self._add_execution(thread, result, began_ns)
        except BaseException:
            drop_own_frames()
            raise
        finally:
            thread.is_in_call = False
        if thread.compilations:
            compilations = self._jax.compilations(self._definition)
            compilations.note(self._jax.recorder, self, self._describe(args, kwargs))
        return result

    def _add_execution(self, thread: _Thread, result: Any, began_ns: int) -> None:
        if self.skip_count:
            self.skip_count -= 1
            return
        leaves = self._jax.tree.leaves(result)
        arrays = [leaf for leaf in leaves[-MAX_CHECKED_LEAVES:] if hasattr(leaf, "is_ready")]
        if not arrays or _is_ready(arrays[-1]) is not False:
            return
        smallest = min(arrays, key=lambda array: int(array.nbytes))
        get_result = (lambda: smallest) if smallest.nbytes <= SMALL_BYTES else weakref.ref(smallest)
        if thread.compilations:  # the call began with compiling
            began_ns = time.perf_counter_ns()
        place = self._jax.recorder.place()
        thread.add(_Execution(self, place, get_result, frozenset(map(id, leaves)), began_ns))

    def _describe(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[_Argument]:
        descriptions = []
        arguments: list[tuple[int | str, Any]] = [*enumerate(args), *sorted(kwargs.items())]
        for key, argument in arguments:
            parameter: int | str = key
            name = f"argument {key}"
            if isinstance(key, int):
                parameter = self._parameters[key] if key < len(self._parameters) else key
                name = f"argument {key + 1} ({parameter})"
            if key in self._static or parameter in self._static:
                descriptions.append(_Argument(name, None, {"values": repr(argument)[:200]}))
                continue
            leaves, structure = self._jax.tree.flatten(argument)
            properties = {
                "shapes": [getattr(leaf, "shape", ()) for leaf in leaves],
                "types": [getattr(leaf, "dtype", type(leaf)) for leaf in leaves],
                "weak types": [getattr(leaf, "weak_type", False) for leaf in leaves],
                "places": [str(getattr(leaf, "sharding", None)) for leaf in leaves],
            }
            descriptions.append(_Argument(name, structure, properties))
        return descriptions

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_jitted"), name)

    def __repr__(self) -> str:
        return repr(self._jitted)

    def __reduce__(self) -> Any:
        return copy, (self._jitted,)  # another process wraps its own


class _JaxState:
    """The state that the wrapped functions of one installation share."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.thread = _Thread(recorder)
        self.ticks = unmarked_loop(recorder, LOOP)
        # The latest call of a jitted function, below which the times between its callbacks are booked.
        self.place: Place | None = None
        self.began_ns = 0
        self._compilations: dict[Any, _Compilations] = {}
        self._threads: dict[int, int] = {}

    @property
    def tree(self) -> Any:
        """`jax.tree`."""
        return sys.modules["jax"].tree

    def compilations(self, definition: tuple[str, str, int]) -> _Compilations:
        """Return the compilations of the function with a name, file and line."""
        if definition not in self._compilations and len(self._compilations) >= MAX_FUNCTIONS:
            return _Compilations(definition[0])
        return self._compilations.setdefault(definition, _Compilations(definition[0]))

    def make_jit(self, jit: Callable[..., Any]) -> Callable[..., Any]:
        """Make `jax.jit`, which without a function returns a decorator."""

        def wrapper(*functions: Any, **options: Any) -> Any:
            if not functions:
                return lambda function: wrapper(function, **options)
            static: set[int | str] = set()
            for name in ("static_argnums", "static_argnames"):
                option = options.get(name)
                static.update(option if isinstance(option, (tuple, list)) else (option,))
            return JittedFunction(self, jit(*functions, **options), functions[0], frozenset(static - {None}))

        return wrapper

    def begin_phase(self, event: str, _: float, **details: Any) -> None:
        """Begin the section of a phase of a compilation."""
        if event in PHASES:
            name = str(details.get("fun_name", "")).removeprefix("jit(").removesuffix(")")
            section = self.recorder.section(f"{PHASES[event]} {name}")
            self.thread.phases.append((event, section))
            section.__enter__()

    def end_phase(self, event: str, _: float, **__: Any) -> None:
        """End it."""
        if event in PHASES and self.thread.phases and self.thread.phases[-1][0] == event:
            self.thread.phases.pop()[1].__exit__(None, None, None)
            self.thread.compilations += PHASES[event] == "compile"

    def make_wait(self, name: str) -> Callable[..., Any]:
        """Return a decorator that makes a function a wait for its first argument's results."""
        section = self.recorder.timed_section(name, NO_SITE, wait=True)

        def make(function: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(value: Any, /, *args: Any, **kwargs: Any) -> Any:
                if self.thread.is_waiting:
                    return function(value, *args, **kwargs)
                self.thread.book_done()
                self.thread.is_waiting = True
                try:
                    with section:
                        result = function(value, *args, **kwargs)
                except BaseException:
                    drop_own_frames()
                    raise
                finally:
                    self.thread.is_waiting = False
                self.thread.end_wait(set(map(id, self.tree.leaves(value))))
                return result

            return wrapper

        return make

    def make_callback(self, register: Callable[..., Any]) -> Callable[..., Any]:
        """Make a function that has the device call back the program; the rows belong to the thread that calls."""

        def wrapper(callback: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not callable(callback):
                return register(callback, *args, **kwargs)
            name = str(getattr(callback, "__name__", type(callback).__name__))
            section = self.recorder.timed_section(f"callback {name}", site_of(callback))
            last_ns = 0

            def timed_callback(*args: Any, **kwargs: Any) -> Any:
                nonlocal last_ns
                self._set_role()
                before_ns, last_ns = last_ns, time.perf_counter_ns()
                if self.place is not None and before_ns > self.began_ns:
                    # No loop: the runtime calls from any free thread, and a loop belongs to one thread.
                    self.recorder.book(self.place, (f"between callbacks {name}",), last_ns - before_ns)
                with section:
                    return callback(*args, **kwargs)

            return register(update_wrapper(timed_callback, callback), *args, **kwargs)

        return wrapper

    def _set_role(self) -> None:
        """Give a thread of the runtime its own role: it is no worker like the main thread or its other threads.

        For Python it is a new thread in every callback: the next thread of a role continues the rows of the last one.
        """
        if not self.thread.has_role and threading.current_thread() is not threading.main_thread():
            number = self._threads.setdefault(threading.get_native_id(), len(self._threads) + 1)
            self.recorder.role(f"{CALLBACKS_ROLE} {number}")
        self.thread.has_role = True


@lru_cache(maxsize=1)
def _state(recorder: Recorder) -> _JaxState:
    return _JaxState(recorder)


def _wrap(patches: Patches, jax: ModuleType, recorder: Recorder) -> None:
    state = _state(recorder)
    monitoring = import_module("jax.monitoring")
    patches.wrap(jax, "jit", state.make_jit)
    patches.wrap(jax, "block_until_ready", state.make_wait("block_until_ready"))
    patches.wrap(jax, "device_get", state.make_wait("copy to host"))
    monitoring.register_scalar_listener(state.begin_phase)
    patches.on_undo(partial(monitoring.unregister_scalar_listener, state.begin_phase))
    monitoring.register_event_duration_secs_listener(state.end_phase)
    patches.on_undo(partial(monitoring.unregister_event_duration_listener, state.end_phase))


def _wrap_arrays(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap methods of arrays; `float`, `item`, `tolist` and numpy's copies read `_value`."""
    require_tested("jax", TESTED)
    state, array, get_value = _state(recorder), module.ArrayImpl, module.ArrayImpl._value.fget
    block = state.make_wait("block_until_ready")(array.block_until_ready)
    block.__name__, block.__doc__ = "block_until_ready", array.block_until_ready.__doc__
    patches.put(array, "block_until_ready", block)  # JAX's has no name that a function could have
    copy_value = state.make_wait("copy to host")(get_value)

    def _value(self: Any) -> Any:
        return get_value(self) if self._npy_value is not None else copy_value(self)

    patches.put(array, "_value", property(_value, doc=get_value.__doc__))


def _wrap_callbacks(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    patches.wrap(module, _CALLBACKS[module.__name__], _state(recorder).make_callback)


INSTRUMENT = Instrument(
    "jax",
    tested=TESTED,
    hooks={"jax": _wrap, "jax._src.array": _wrap_arrays, **dict.fromkeys(_CALLBACKS, _wrap_callbacks)},
)
