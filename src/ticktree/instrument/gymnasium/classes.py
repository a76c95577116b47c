"""Wrapping methods of a class and of all its subclasses, those of the program and those to come included."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias
from weakref import WeakSet

from ticktree.instrument.patches import Patches

# Makes a method's wrapper of it, its name and its class.
Make: TypeAlias = Callable[[Any, str, type], Any]


class Classes:
    """A class and its subclasses, some of whose methods are wrapped where they are defined.

    Args:
        patches: Undoes what is done to the class itself.
        names: Of the methods.
        make: Makes a wrapper.
    """

    def __init__(self, patches: Patches, names: Collection[str], make: Make) -> None:
        self._patches = patches
        self._names = names
        self._make = make
        # Classes that the program forgets are forgotten here too.
        self._wrapped: WeakSet[type] = WeakSet()
        self._made: WeakSet[Any] = WeakSet()

    def follow(self, base: type) -> None:
        """Wraps what there is, and what will be when it is defined."""
        for each in {base, *_below(base)}:
            self._wrap(each)
        follower, own = self, vars(base).get("__init_subclass__")

        def __init_subclass__(cls: type, **kwargs: Any) -> None:  # noqa: N807
            if own is None:
                super(base, cls).__init_subclass__(**kwargs)  # type: ignore[misc]
            else:
                own.__func__(cls, **kwargs)
            follower._wrap(cls)

        self._patches.replace(base, "__init_subclass__", classmethod(__init_subclass__))

    def undo(self) -> None:
        """Puts the methods back; the class itself is up to the patches."""
        for each in list(self._wrapped):
            for name in self._names:
                ours = vars(each).get(name)
                if ours is not None and ours in self._made:
                    setattr(each, name, ours.__wrapped__)
        self._wrapped.clear()
        self._made.clear()

    def _wrap(self, each: type) -> None:
        for name in self._names:
            method = vars(each).get(name)
            # A class that is made of another's parts, as dataclasses are, has it wrapped already.
            if callable(method) and not isinstance(method, (staticmethod, type)) and not self._is_made(method):
                made = functools.update_wrapper(self._make(method, name, each), method)
                setattr(each, name, made)
                self._made.add(made)
        self._wrapped.add(each)

    def _is_made(self, method: Any) -> bool:
        try:
            return method in self._made
        except TypeError:  # what cannot be referred to weakly was not made here
            return False


def _below(base: type) -> Iterator[type]:
    for each in base.__subclasses__():
        yield each
        yield from _below(each)
