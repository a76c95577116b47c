"""Calls reported by a C profile function, Python 3.11.

It is there from the beginning until each root has been called once. Then the root is wrapped, where that is sure to
catch all of its calls, and the profile function lives only while it runs: outside nothing is paid. Where it is not
sure the profile function stays: generators and coroutines, which run in many parts, and functions that
something holds in addition to their class or module.

A thread that has a profile function keeps it, and is not looked at; a trace function (a debugger's, coverage's) is
something else, and continues.
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
from ticktree.recorder._native import Opening, focus_profile_is_gone, focus_profile_off, focus_profile_on
from ticktree.recorder.focus.eye import Eye, functions_held_by, place_of

_TAKEN = "--focus needs the profile function of this thread, which another profiler has"
_SLEEPING = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
)


class Profiling(Eye):
    """Hears of calls from a profile function."""

    _noted = False
    _in_threads = False

    def begin(self) -> None:
        """Puts the profile function into this thread, and into those that are started."""
        if sys.getprofile() is not None:
            raise TicktreeError(_TAKEN)
        self._wrapped: list[tuple[Any, str, Any, Any]] = []
        self._thread = threading.get_ident()
        self.watch(keeps_looking=False)
        if not focus_profile_on():
            super().end()
            raise TicktreeError(_TAKEN)
        if threading._profile_hook is None:
            self._in_threads = True
            threading.setprofile(_begin_in_thread)

    def end(self) -> None:
        """Takes it back, and unwraps what is still wrapped as it was."""
        if threading.get_ident() == self._thread and focus_profile_is_gone():
            self.alone()
        super().end()
        focus_profile_off()
        if self._in_threads and threading._profile_hook is _begin_in_thread:
            threading.setprofile(cast("Any", None))  # as its documentation has it
        for owner, name, before, wrapped in self._wrapped:
            if vars(owner).get(name) is wrapped:
                _put(owner, name, before)

    def meet(self, code: CodeType) -> None:
        """Nothing is to be done for it: a profile function hears of all calls."""

    want = sleep = meet

    def alone(self) -> None:
        """A root runs where another profiler looks, or may have run where one did."""
        if not self._noted:
            self._noted = True
            self.note_unseen()
            print("ticktree: another profiler is on: --focus records nothing while it is", file=sys.stderr)

    def wrap(self, code: CodeType, at: int) -> bool:
        """Wraps a root that was found, where that is sure to catch all of its calls."""
        if code.co_flags & _SLEEPING:
            return False
        place = place_of(self.roots[at].name, code)
        if place is None:
            return False
        owner, name = place
        value = vars(owner)[name]
        wrapped = _wrapped(value) if _is_held_by(value, code, owner) else None
        if wrapped is None:
            return False
        for holder, key in [(owner, name), *_also_named(value, owner)]:
            self._wrapped.append((holder, key, value, wrapped))
            _put(holder, key, wrapped)
        return True


def _begin_in_thread(frame: FrameType, event: str, arg: Any) -> None:  # noqa: ARG001 - as a profile function is called
    focus_profile_on(True)


def _put(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, type):
        type.__setattr__(owner, name, value)
    else:
        vars(owner)[name] = value


def _wrapped(value: Any) -> Any:
    """The wrapper of a function, or of what holds one; None where it cannot be wrapped."""
    if type(value) in (staticmethod, classmethod):
        inner = _wrapped(value.__func__)
        return None if inner is None else type(value)(inner)
    if type(value) is property:
        inner = None if value.fget is None else _wrapped(value.fget)
        return None if inner is None else property(inner, value.fset, value.fdel, value.__doc__)
    if type(value) is FunctionType and not value.__code__.co_flags & _SLEEPING:
        return functools.update_wrapper(Opening(value), value)
    return None


def _is_held_by(value: Any, code: CodeType, owner: Any) -> bool:
    """Whether functions of the code are held by `value` alone, and that by its owner and by modules that import it."""
    within = {id(held): held for held in _held(value)}
    functions = [at for at in gc.get_referrers(code) if type(at) is FunctionType and at.__code__ is code]
    if not functions or any(id(function) not in within for function in functions):
        return False
    chain = [at for at in within.values() if type(at) in (FunctionType, staticmethod, classmethod, property)]
    ours = {id(within), id(functions), id(chain)}
    for held in chain:  # not in a generator, which would hold it too
        for holder in gc.get_referrers(held):
            if id(holder) in within or id(holder) in ours:
                continue
            if not _may_hold(holder, value, code, owner):
                return False
    return True


def _may_hold(holder: Any, value: Any, code: CodeType, owner: Any) -> bool:
    """Whether a holder of the function will get its wrapper, or never calls it again."""
    if isinstance(holder, FrameType):
        return holder.f_code is code or holder.f_globals is globals()
    return type(holder) is dict and (_is_namespace_of(holder, owner, value) or _module_of(holder) is not None)


def _held(value: Any) -> Iterator[Any]:
    """A value and what it holds that may lead to the function: wrapped functions, their cells and attributes."""
    waiting, visited = [value], set()
    while waiting:
        at = waiting.pop()
        if id(at) in visited:
            continue
        visited.add(id(at))
        yield at
        if type(at) is FunctionType:
            waiting += [at.__dict__, *(at.__closure__ or ())]
            inner = (at.__dict__.get("__wrapped__"), *functions_held_by(at))
            waiting += [held for held in inner if type(held) is FunctionType]
            if at.__closure__ is not None:
                waiting.append(at.__closure__)
        elif type(at) in (staticmethod, classmethod):
            waiting += [at.__func__, at.__dict__]
        elif type(at) is property:
            waiting.append(at.fget)


def _is_namespace_of(holder: dict[str, Any], owner: Any, value: Any) -> bool:
    if isinstance(owner, ModuleType):
        return holder is vars(owner)
    # A class's own dictionary is not given out: it has the same things in the same places.
    known = vars(owner)
    is_it = len(holder) == len(known) and all(holder.get(key) is known[key] for key in known)
    return is_it and any(held is value for held in known.values())


def _module_of(holder: dict[str, Any]) -> ModuleType | None:
    module = sys.modules.get(str(holder.get("__name__")))
    return module if module is not None and vars(module) is holder else None


def _also_named(value: Any, owner: Any) -> list[tuple[ModuleType, str]]:
    """Modules that import the function by name."""
    named = []
    for module in list(sys.modules.values()):
        if type(module) is ModuleType and module is not owner:
            named += [(module, key) for key, held in list(vars(module).items()) if held is value]
    return named
