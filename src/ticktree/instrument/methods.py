"""Sections for methods of other people's classes: once a call, however many layers it goes through."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import MethodType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.recorder import drop_own_frames

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# What gives the section of a call on an object, or None where it is to have no row.
Sections = Callable[[Any], "AbstractContextManager[Any] | None"]


class Guard(threading.local):
    """What is open on this thread, so that what is called within is part of it."""

    is_open = False


class MethodWrapper:
    """What stands for a function in a class: it binds as the function does, and says of itself what that says."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        try:
            return self._function(*args, **kwargs)
        except BaseException:
            drop_own_frames()
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "_function":  # of one that is being made
            raise AttributeError(name)
        return getattr(self._function, name)  # `__code__`, `__defaults__` and the like


class Method(MethodWrapper):
    """A method that is a section when it is called, unless a call of it, or of what shares its guard, is open.

    An object and no function: classes that are pickled by value, as cloudpickle does with those of a script, take
    what is wrapped along, and nothing of ours.
    """

    def __init__(self, function: Callable[..., Any], sections: Sections, guard: Guard) -> None:
        super().__init__(function)
        self._sections = sections
        self._guard = guard

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        guard = self._guard
        try:
            section = None if guard.is_open else self._sections(args[0] if args else None)
            if section is None:
                return self._function(*args, **kwargs)
            guard.is_open = True
            try:
                with section:
                    return self._function(*args, **kwargs)
            finally:
                guard.is_open = False
        except BaseException:
            drop_own_frames()
            raise

    def __reduce__(self) -> Any:
        return copy.copy, (self._function,)  # of a function: itself

    def __copy__(self) -> Method:
        return self

    def __deepcopy__(self, memo: Any) -> Method:
        return self


def simply(recorder: Recorder, name: str, *, wait: bool = False) -> Sections:
    """The same section for every object."""
    section = recorder.section(name, wait=wait)
    return lambda _: section


class ClassHierarchy:
    """A class and all of its subclasses, those that are defined later too: each that has a method has it wrapped.

    Args:
        patches: What takes it back.
        base: The class.
    """

    def __init__(self, patches: Patches, base: type) -> None:
        self._patches = patches
        self._base = base
        self._methods: list[tuple[str, Callable[[Any, type], Any]]] = []
        self._watch_subclasses()

    def wrap(self, name: str, sections: Sections, guard: Guard | None = None) -> None:
        """Makes a section of the outermost call of a method.

        Args:
            name: Of the method.
            sections: Gives the section of an object's call.
            guard: Of what must not be open for the call to be the outermost; a new one by default.
        """
        guard = guard or Guard()
        self.wrap_by_owner(name, lambda function, _: Method(function, sections, guard))

    def wrap_by_owner(self, name: str, make: Callable[[Any, type], Any]) -> None:
        """Replaces a method by `make(function, owner)` in each class that has one of its own."""
        self._methods.append((name, make))
        for each in with_subclasses(self._base):
            self._wrap_in(each, name, make)

    def _wrap_in(self, owner: type, name: str, make: Callable[[Any, type], Any]) -> None:
        method = vars(owner).get(name)
        if not getattr(method, "__isabstractmethod__", False):
            self._patches.wrap(owner, name, lambda function: make(function, owner))

    def _watch_subclasses(self) -> None:
        base = self._base
        own = vars(base).get("__init_subclass__")

        def __init_subclass__(cls: type, **kwargs: Any) -> None:  # noqa: N807 (what Python calls)
            if own is not None:
                own.__get__(None, cls)(**kwargs)
            else:
                super(base, cls).__init_subclass__(**kwargs)  # type: ignore[arg-type]
            for name, make in self._methods:
                self._wrap_in(cls, name, make)

        ours: Any = classmethod(__init_subclass__)  # type: ignore[arg-type]
        self._patches.put(base, "__init_subclass__", ours)


def with_subclasses(base: type) -> list[type]:
    """Returns a class and every class that is below it now."""
    found: list[type] = [base]
    for each in found:  # the list grows while it is walked
        below: list[type] = type.__subclasses__(each)
        found += [one for one in below if one not in found]
    return found
