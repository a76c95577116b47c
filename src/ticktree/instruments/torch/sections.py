"""Sections in code that torch.compile compiles: they leave no trace in its graph, and so no row.

Compiled code runs in another order, or fused, or not at all: a section of a part of it would time something else.
So we make the compiler ignore sections, where it would stop (`fullgraph=True`) or break the graph. The time counts for
the section that calls the compiled code.
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

# CI runs 2.13. 2.12.1 and 2.14.1 have no small builds: the tests of compiled code and of distributed training passed
# once with them. Instruments that need torch's private functions refuse others.
TESTED = ">=2.12.0,<2.15"
# `Module.compile` calls it too.
COMPILER_IS_USED_BY = "torch:compile"

_INSTRUMENTS_PATH = f"{Path(__file__).parents[1]}/"


def leave_no_trace() -> None:
    """From now on, hide sections and wrapped functions from the compiler."""
    _COMPILER.install(OWN)
    if not losses.is_tested(losses.version_of("torch"), TESTED):
        _UNKNOWN_COMPILER.install(OWN)


class _NoSection:
    """Replaces a section for the compiler."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def work(self, **_: object) -> None:
        return None


def _section(*_: object, **__: object) -> _NoSection:
    return _NoSection()


def _do_nothing(*_: object, **__: object) -> None:
    return None


# The types of public functions: `ticktree.section` and the like are methods of the program's own recorder.
_METHOD_TYPES = (type(OWN.section), type(OWN.gauge))
_REPLACEMENTS: dict[str, Callable[..., Any]] = {
    "section": _section,
    **dict.fromkeys(("stage", "record_duration", "gauge", "wakes", "woken_by"), _do_nothing),
}


# Our wrappers, which hold the wrapped function; `--focus` wraps the functions in its focus.
_WRAPPERS = (TimedFunction, Opening)


def wrap(patches: Patches, builder: ModuleType, _recorder: Recorder) -> None:
    """Wrap the functions that make the compiler's representation of a value (torch._dynamo.variables.builder)."""

    def make(build: Callable[..., Any]) -> Callable[..., Any]:
        def _wrap(self: Any, value: Any) -> Any:
            if isinstance(value, _WRAPPERS):
                source = builder.AttrSource(self.source, "_function")
                return builder.VariableBuilder(self.tx, source)(value._function)
            if isinstance(value, Section):
                section = builder.SourcelessBuilder.create(self.tx, _section)
                return section.call_function(self.tx, [], {})
            if type(value) in _METHOD_TYPES and isinstance(value.__self__, Recorder):
                replacement = _REPLACEMENTS.get(value.__name__)
                if replacement is not None:
                    return builder.SourcelessBuilder.create(self.tx, replacement)
            return build(self, value)

        return _wrap

    def make_sourceless(create: Callable[..., Any]) -> Callable[..., Any]:
        def create_unwrapped(tx: Any, value: Any) -> Any:
            return create(tx, value._function if isinstance(value, _WRAPPERS) else value)

        return create_unwrapped

    patches.wrap(builder, "VariableBuilder._wrap", make)
    # For functions that the compiler itself calls, such as `autograd.grad` for a backward pass.
    patches.wrap(builder, "SourcelessBuilder.create", make_sourceless)


def wrap_methods(patches: Patches, objects: ModuleType, _recorder: Recorder) -> None:
    """Wrap its lookup of an object's method (torch._dynamo.variables.user_defined)."""

    def make(look_up: Callable[..., Any]) -> Callable[..., Any]:
        def lookup_class_mro_attr(self: Any, name: str) -> Any:
            method = look_up(self, name)
            return method._function if isinstance(method, _WRAPPERS) else method

        return lookup_class_mro_attr

    patches.wrap(objects, "UserDefinedObjectVariable.lookup_class_mro_attr", make)


def wrap_super(patches: Patches, misc: ModuleType, _recorder: Recorder) -> None:
    """Wrap its lookup of methods that are called through `super()` (torch._dynamo.variables.misc)."""

    def make(resolve: Callable[..., Any]) -> Callable[..., Any]:
        def _resolved_getattr_and_source(self: Any, tx: Any, name: str) -> Any:
            method, source = resolve(self, tx, name)
            if not isinstance(method, _WRAPPERS):
                return method, source
            return method._function, source and misc.AttrSource(source, "_function")

        return _resolved_getattr_and_source

    patches.wrap(misc, "SuperVariable._resolved_getattr_and_source", make)


def wrap_rules(patches: Patches, rules: ModuleType, _recorder: Recorder) -> None:
    """Wrap its checks of the file that defines a function (torch._dynamo.trace_rules).

    A timed method has no file, and the compiler would stop there. It calls the instruments' functions only at graph
    breaks, such as a backward pass: they run uncompiled.
    """

    def make_verbose(check: Callable[..., Any]) -> Callable[..., Any]:
        def check_verbose(obj: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(obj, MethodType) and isinstance(obj.__func__, _WRAPPERS):
                obj = MethodType(obj.__func__._function, obj.__self__)
            return check(obj, *args, **kwargs)

        return check_verbose

    def make_file(check: Callable[..., Any]) -> Callable[..., Any]:
        def check_file(filename: str | None, is_inlined_call: bool = False) -> Any:
            if not is_inlined_call and filename is not None and filename.startswith(_INSTRUMENTS_PATH):
                return rules.SkipResult(True, "an instrument of ticktree's")
            return check(filename, is_inlined_call)

        return check_file

    patches.wrap(rules, "check_verbose", make_verbose)
    patches.wrap(rules, "check_file", make_file)


def _wrap_unknown(patches: Patches, dynamo: ModuleType, _recorder: Recorder) -> None:
    """For an unknown version of the compiler, replace our wrappers, which it cannot read, by Python functions.

    It would call a wrapped method without its object, and refuse the public functions and torch's. We replace when the
    program passes something to the compiler, and when a compilation begins: there may be more wrappers by then.
    """
    is_compiling = sys.modules["torch"].compiler.is_compiling

    def replace(*_: object) -> None:
        modules = [module for module in list(sys.modules.values()) if issubclass(type(module), ModuleType)]
        for owner in [*with_subclasses(object), *modules]:
            for name, wrapper in list(vars(owner).items()):
                compiled = _as_compiled(wrapper)
                if compiled is not None:
                    with suppress(Exception):  # a class may refuse to be changed
                        put_function(owner, name, _make_switch(is_compiling, compiled, wrapper))

    def make_optimize(optimize: Callable[..., Any]) -> Callable[..., Any]:
        def optimize_replaced(*args: Any, **kwargs: Any) -> Any:
            replace()
            return optimize(*args, **kwargs)

        return optimize_replaced

    def make_reset(reset: Callable[[], None]) -> Callable[[], None]:
        def reset_and_register() -> None:
            reset()  # it removes callbacks
            dynamo.on_compile_start(replace)

        return reset_and_register

    # `torch.compile` calls it, even if that imports the compiler.
    patches.wrap(dynamo, "optimize", make_optimize)
    patches.wrap(dynamo, "reset", make_reset)
    dynamo.on_compile_start(replace)


def _as_compiled(value: Any) -> Callable[..., Any] | None:
    """Return the function that replaces a wrapper or a public function in compiled code; None for other values."""
    kind = type(value)  # any other inspection of an object, even `isinstance`, may run the program's code
    if issubclass(kind, _WRAPPERS) and not issubclass(kind, OutermostBuiltin):
        function: Callable[..., Any] = value
        while isinstance(function, _WRAPPERS):
            function = function._function
        return function
    if kind in _METHOD_TYPES and isinstance(value.__self__, Recorder):
        return _REPLACEMENTS.get(value.__name__)
    return None


def _make_switch(
    is_compiling: Callable[[], bool], compiled: Callable[..., Any], wrapper: Callable[..., Any]
) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return compiled(*args, **kwargs)  # without `try`, as in `without_own_frames`
        try:
            return wrapper(*args, **kwargs)
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
# For all other versions of the compiler.
_UNKNOWN_COMPILER = Instrument("torch", hooks={"torch._dynamo": _wrap_unknown})
