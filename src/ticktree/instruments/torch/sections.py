"""Sections in code that torch.compile compiles: they leave no trace in its graph, and so no row.

What is compiled runs in another order, or fused, or not at all: a section of a part of it would time something else.
So the compiler, when it meets one, continues as if it were not there, where it would stop (`fullgraph=True`)
or break the graph. Time is booked where it is known: in the section that calls the compiled code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

from ticktree.instruments import losses
from ticktree.instruments.patches import Patches, put_function, with_subclasses
from ticktree.instruments.targets import Instrument
from ticktree.recorder import (
    OWN,
    Opening,
    OutermostBuiltin,
    Recorder,
    Section,
    TimedFunction,
    drop_own_frames,
)

# CI runs 2.13. Of 2.12.1 and 2.14.1 there are no small builds: the tests of compiled code and of distributed training
# passed once with them. What needs torch's private functions is refused on others.
TESTED = ">=2.12.0,<2.15"
# `Module.compile` calls it too.
COMPILER_IS_USED_BY = "torch:compile"

# The instruments' files.
_OURS = f"{Path(__file__).parents[1]}/"


def leave_no_trace() -> None:
    """From now on, hide sections and wrapped functions from the compiler."""
    _COMPILER.install(OWN)
    if not losses.is_tested(losses.version_of("torch"), TESTED):
        _UNKNOWN_COMPILER.install(OWN)


class _Nothing:
    """What a section is to the compiler."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def work(self, **_: object) -> None:
        return None


def _section(*_: object, **__: object) -> _Nothing:
    return _Nothing()


def _nothing(*_: object, **__: object) -> None:
    return None


# What the public functions are: `ticktree.section` and the like are methods of the program's own recorder.
_KINDS = (type(OWN.section), type(OWN.gauge))
_INSTEAD: dict[str, Callable[..., Any]] = {
    "section": _section,
    **dict.fromkeys(("stage", "record_duration", "gauge", "wakes", "woken_by"), _nothing),
}


# Functions that are ours to wrap, which hold what they wrap; `--focus` wraps those that it looks at.
_WRAPPERS = (TimedFunction, Opening)


def wrap(patches: Patches, builder: ModuleType, _recorder: Recorder) -> None:
    """Wraps what makes the compiler's own picture of a value (torch._dynamo.variables.builder)."""

    def make(build: Callable[..., Any]) -> Callable[..., Any]:
        def _wrap(self: Any, value: Any) -> Any:
            if isinstance(value, _WRAPPERS):
                source = builder.AttrSource(self.source, "_function")
                return builder.VariableBuilder(self.tx, source)(value._function)
            if isinstance(value, Section):
                made = builder.SourcelessBuilder.create(self.tx, _section)
                return made.call_function(self.tx, [], {})
            if type(value) in _KINDS and isinstance(value.__self__, Recorder):
                instead = _INSTEAD.get(value.__name__)
                if instead is not None:
                    return builder.SourcelessBuilder.create(self.tx, instead)
            return build(self, value)

        return _wrap

    def make_sourceless(create: Callable[..., Any]) -> Callable[..., Any]:
        def create_unwrapped(tx: Any, value: Any) -> Any:
            return create(tx, value._function if isinstance(value, _WRAPPERS) else value)

        return create_unwrapped

    patches.wrap(builder, "VariableBuilder._wrap", make)
    # What the compiler itself calls, as `autograd.grad` for a backward pass.
    patches.wrap(builder, "SourcelessBuilder.create", make_sourceless)


def wrap_methods(patches: Patches, objects: ModuleType, _recorder: Recorder) -> None:
    """Wraps where it looks for a method of an object (torch._dynamo.variables.user_defined)."""

    def make(look_up: Callable[..., Any]) -> Callable[..., Any]:
        def lookup_class_mro_attr(self: Any, name: str) -> Any:
            found = look_up(self, name)
            return found._function if isinstance(found, _WRAPPERS) else found

        return lookup_class_mro_attr

    patches.wrap(objects, "UserDefinedObjectVariable.lookup_class_mro_attr", make)


def wrap_super(patches: Patches, others: ModuleType, _recorder: Recorder) -> None:
    """Wraps where it looks for what `super()` calls (torch._dynamo.variables.misc)."""

    def make(resolve: Callable[..., Any]) -> Callable[..., Any]:
        def _resolved_getattr_and_source(self: Any, tx: Any, name: str) -> Any:
            found, source = resolve(self, tx, name)
            if not isinstance(found, _WRAPPERS):
                return found, source
            return found._function, source and others.AttrSource(source, "_function")

        return _resolved_getattr_and_source

    patches.wrap(others, "SuperVariable._resolved_getattr_and_source", make)


def wrap_rules(patches: Patches, rules: ModuleType, _recorder: Recorder) -> None:
    """Wraps where it looks which file a function is in (torch._dynamo.trace_rules).

    A method that is timed is in none, and there it would stop. Functions of the instruments are called where the graph
    broke, of a backward pass for one: they run as they are.
    """

    def make_verbose(check: Callable[..., Any]) -> Callable[..., Any]:
        def check_verbose(obj: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(obj, MethodType) and isinstance(obj.__func__, _WRAPPERS):
                obj = MethodType(obj.__func__._function, obj.__self__)
            return check(obj, *args, **kwargs)

        return check_verbose

    def make_file(check: Callable[..., Any]) -> Callable[..., Any]:
        def check_file(filename: str | None, is_inlined_call: bool = False) -> Any:
            if not is_inlined_call and filename is not None and filename.startswith(_OURS):
                return rules.SkipResult(True, "an instrument of ticktree's")
            return check(filename, is_inlined_call)

        return check_file

    patches.wrap(rules, "check_verbose", make_verbose)
    patches.wrap(rules, "check_file", make_file)


def _show(patches: Patches, dynamo: ModuleType, _recorder: Recorder) -> None:
    """Of a compiler that is not known, puts Python functions in the place of ours, which it cannot read.

    It would call a method that is wrapped without its object, and refuse the public functions and torch's. That is
    done where something is given to the compiler, and when a compilation begins: there may be more by then.
    """
    is_compiling = sys.modules["torch"].compiler.is_compiling

    def show(*_: object) -> None:
        modules = [module for module in list(sys.modules.values()) if issubclass(type(module), ModuleType)]
        for owner in [*with_subclasses(object), *modules]:
            for name, ours in list(vars(owner).items()):
                compiled = _as_compiled(ours)
                if compiled is not None:
                    with suppress(Exception):  # a class may refuse to be changed
                        put_function(owner, name, _either(is_compiling, compiled, ours))

    def make_optimize(optimize: Callable[..., Any]) -> Callable[..., Any]:
        def optimize_shown(*args: Any, **kwargs: Any) -> Any:
            show()
            return optimize(*args, **kwargs)

        return optimize_shown

    def make_reset(forget_callbacks: Callable[[], None]) -> Callable[[], None]:
        def reset() -> None:
            forget_callbacks()
            dynamo.on_compile_start(show)

        return reset

    # `torch.compile` calls it, also where that imports the compiler.
    patches.wrap(dynamo, "optimize", make_optimize)
    patches.wrap(dynamo, "reset", make_reset)
    dynamo.on_compile_start(show)


def _as_compiled(ours: Any) -> Callable[..., Any] | None:
    """Return what a compiler is to see of something of ours; None of anything else."""
    kind = type(ours)  # to ask anything else of an object, `isinstance` too, may run the program's code
    if issubclass(kind, _WRAPPERS) and not issubclass(kind, OutermostBuiltin):
        function: Callable[..., Any] = ours
        while isinstance(function, _WRAPPERS):
            function = function._function
        return function
    if kind in _KINDS and isinstance(ours.__self__, Recorder):
        return _INSTEAD.get(ours.__name__)
    return None


def _either(
    is_compiling: Callable[[], bool], compiled: Callable[..., Any], ours: Callable[..., Any]
) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return compiled(*args, **kwargs)  # and no `try` around it, as in `leaving_no_frames`
        try:
            return ours(*args, **kwargs)
        except BaseException:
            del args, kwargs
            drop_own_frames()
            raise

    return call


_COMPILER = Instrument(
    "torch",
    tested=TESTED,
    hooks={
        "torch._dynamo.variables.builder": wrap,
        "torch._dynamo.variables.user_defined": wrap_methods,
        "torch._dynamo.variables.misc": wrap_super,
        "torch._dynamo.trace_rules": wrap_rules,
    },
    private=True,
    used_by=COMPILER_IS_USED_BY,
)
# Of other versions of the compiler nothing is known.
_UNKNOWN_COMPILER = Instrument("torch", hooks={"torch._dynamo": _show})
