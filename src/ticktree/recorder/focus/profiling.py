"""Calls reported by a C profile function, Python 3.11.

It is set from the beginning until each root has been called once. Then the root is wrapped, if a wrapper is sure to
catch all of its calls, and the profile function is set only while the root runs: code outside costs nothing. Otherwise
the profile function stays: for generators and coroutines, which run in many parts, and for functions with references
from other objects than their class or module.

A thread that has a profile function keeps it, and is not recorded; a trace function (a debugger's, coverage's) is a
different function, and continues.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import threading
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, cast

from ticktree.errors import TicktreeError
from ticktree.recorder._native import (
    Opening,
    focus_profile_off,
    focus_profile_on,
    focus_profile_was_displaced,
)
from ticktree.recorder.focus.observer import CallObserver, find_owner, functions_in_closure

_IN_USE = "--focus needs the profile function of this thread, which another profiler has"
_CAN_SUSPEND = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
)


class ProfilingObserver(CallObserver):
    """Gets calls from a profile function."""

    _has_warned = False
    _is_in_threads = False

    def begin(self) -> None:
        """Set the profile function in this thread, and in threads that start later."""
        if sys.getprofile() is not None:
            raise TicktreeError(_IN_USE)
        self._wrappers: list[tuple[Any, str, Any, Any]] = []
        self._thread = threading.get_ident()
        self.attach(watches_all=False)
        if not focus_profile_on():
            super().end()
            raise TicktreeError(_IN_USE)
        if threading._profile_hook is None:
            self._is_in_threads = True
            threading.setprofile(_begin_in_thread)

    def end(self) -> None:
        """Remove it, and unwrap the roots whose wrapper is still in its place."""
        if threading.get_ident() == self._thread and focus_profile_was_displaced():
            self.note_displaced()
        super().end()
        focus_profile_off()
        if self._is_in_threads and threading._profile_hook is _begin_in_thread:
            threading.setprofile(cast("Any", None))  # as its documentation has it
        for owner, name, original, wrapper in self._wrappers:
            if vars(owner).get(name) is wrapper:
                _set_attribute(owner, name, original)

    def watch_calls(self, code: CodeType) -> None:
        """Do nothing: a profile function gets all calls."""

    watch_callees = ignore = watch_calls

    def note_displaced(self) -> None:
        """Warn that a root runs, or may have run, while another profiler has the profile function."""
        if not self._has_warned:
            self._has_warned = True
            self.record_unseen()
            print("ticktree: another profiler is on: --focus records nothing while it is", file=sys.stderr)

    def wrap_root(self, code: CodeType, root: int) -> bool:
        """Wrap a root that was found, if the wrapper is sure to catch all of its calls."""
        location = None if code.co_flags & _CAN_SUSPEND else find_owner(self.roots[root].name, code)
        if location is None:
            return False
        owner, name = location
        value = vars(owner)[name]
        wrapper = _wrapper_of(value) if _has_no_other_references(value, code, owner) else None
        if wrapper is None:
            return False
        for holder, key in [(owner, name), *_imports_of(value, owner)]:
            self._wrappers.append((holder, key, value, wrapper))
            _set_attribute(holder, key, wrapper)
        return True


def _begin_in_thread(frame: FrameType, event: str, arg: Any) -> None:  # noqa: ARG001 - as a profile function is called
    focus_profile_on(True)


def _set_attribute(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, type):
        type.__setattr__(owner, name, value)
    else:
        vars(owner)[name] = value


def _wrapper_of(value: Any) -> Any:
    """Return the wrapper of a function, method or property; None if it cannot be wrapped."""
    if type(value) in (staticmethod, classmethod):
        inner = _wrapper_of(value.__func__)
        return None if inner is None else type(value)(inner)
    if type(value) is property:
        inner = None if value.fget is None else _wrapper_of(value.fget)
        return None if inner is None else property(inner, value.fset, value.fdel, value.__doc__)
    if type(value) is FunctionType and not value.__code__.co_flags & _CAN_SUSPEND:
        return functools.update_wrapper(Opening(value), value)
    return None


def _has_no_other_references(value: Any, code: CodeType, owner: Any) -> bool:
    """Whether only `value` refers to functions of the code, and only its owner and importing modules refer to it."""
    layers = {id(layer): layer for layer in _layers_of(value)}
    referrers = gc.get_referrers(code)
    functions = [item for item in referrers if type(item) is FunctionType and item.__code__ is code]
    del referrers  # it would be a referrer, too
    if not functions or any(id(function) not in layers for function in functions):
        return False
    kinds = (FunctionType, staticmethod, classmethod, property)
    chain = [layer for layer in layers.values() if type(layer) in kinds]
    our_containers = {id(layers), id(functions), id(chain)}
    for layer in chain:  # not in a generator, which would be a referrer, too
        for referrer in gc.get_referrers(layer):
            if id(referrer) in layers or id(referrer) in our_containers:
                continue
            if not _is_harmless(referrer, value, code, owner):
                return False
    return True


def _is_harmless(referrer: Any, value: Any, code: CodeType, owner: Any) -> bool:
    """Whether a referrer of the function gets its wrapper, or never calls it again."""
    if isinstance(referrer, FrameType):
        return referrer.f_code is code or referrer.f_globals is globals()
    return type(referrer) is dict and (_is_namespace_of(referrer, owner, value) or _is_of_module(referrer))


def _layers_of(value: Any) -> Iterator[Any]:
    """Yield a value and the objects in it that may lead to the function: functions, their cells and attributes."""
    queue, visited = [value], set()
    while queue:
        layer = queue.pop()
        if id(layer) in visited:
            continue
        visited.add(id(layer))
        yield layer
        if type(layer) is FunctionType:
            queue += [layer.__dict__, *(layer.__closure__ or ())]
            inner = (layer.__dict__.get("__wrapped__"), *functions_in_closure(layer))
            queue += [function for function in inner if type(function) is FunctionType]
            if layer.__closure__ is not None:
                queue.append(layer.__closure__)
        elif type(layer) in (staticmethod, classmethod):
            queue += [layer.__func__, layer.__dict__]
        elif type(layer) is property:
            queue.append(layer.fget)


def _is_namespace_of(referrer: dict[str, Any], owner: Any, value: Any) -> bool:
    if isinstance(owner, ModuleType):
        return referrer is vars(owner)
    # A class's real dictionary is not accessible: it has the same items.
    attributes = vars(owner)
    is_same = len(referrer) == len(attributes) and all(
        referrer.get(key) is attributes[key] for key in attributes
    )
    return is_same and any(attribute is value for attribute in attributes.values())


def _is_of_module(referrer: dict[str, Any]) -> bool:
    module = sys.modules.get(str(referrer.get("__name__")))
    return module is not None and vars(module) is referrer


def _imports_of(value: Any, owner: Any) -> list[tuple[ModuleType, str]]:
    """Return the modules that import the function, and its name there."""
    imports = []
    for module in list(sys.modules.values()):
        if type(module) is ModuleType and module is not owner:
            imports += [(module, key) for key, item in list(vars(module).items()) if item is value]
    return imports
