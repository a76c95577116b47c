"""Wrapping methods of a class and of all its subclasses, those of the program and those to come included."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import WeakSet

from ticktree.instrument.methods import with_subclasses
from ticktree.instrument.patches import Patches

# On a wrapper: its own identity, for who wraps it again copies what is on it, and the method as the class had it.
_ORIGINAL = "_ticktree_original"

METHODS = ("reset", "step", "render", "close")

# Makes a method's wrapper of it and its name.
Make: TypeAlias = Callable[[Any, str], Any]


class EnvClasses:
    """A class and its subclasses, some of whose methods are wrapped where they are defined.

    Several may wrap them. Whoever comes or goes, all is put back and wrapped again: so each finds its place, and
    nothing of who has gone stays under what others put around it.
    """

    def __init__(self, base: Any) -> None:
        self._base = base
        self._makes: dict[int, Make] = {}
        self._patches = Patches()
        # Classes that the program forgets are forgotten here too.
        self._classes: WeakSet[type] = WeakSet()

    def add(self, rank: int, make: Make) -> None:
        """Wraps what there is, and what will be when it is defined; a higher rank is around a lower one."""
        self._put_back()
        self._makes[rank] = make
        self._wrap_all()

    def remove(self, rank: int) -> None:
        """Takes it back."""
        self._put_back()
        self._makes.pop(rank, None)
        if self._makes:
            self._wrap_all()

    def _wrap_all(self) -> None:
        for each in with_subclasses(self._base):
            self._wrap(each)
        family, base, own = self, self._base, vars(self._base).get("__init_subclass__")

        def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:  # noqa: N807
            if own is None:
                super(base, cls).__init_subclass__(**kwargs)
            else:
                own.__func__(cls, **kwargs)
            family._wrap(cls)

        self._patches.put(base, "__init_subclass__", classmethod(__init_subclass__))

    def _put_back(self) -> None:
        self._patches.undo()
        for each in list(self._classes):
            for name in METHODS:
                ours = vars(each).get(name)
                original = None if ours is None else _original_of(ours)
                if original is not None:
                    setattr(each, name, original)
        self._classes.clear()

    def _wrap(self, each: type) -> None:
        for name in METHODS:
            method = vars(each).get(name)
            # A class that is made of another's parts, as dataclasses are, has it wrapped already.
            if method is None or isinstance(method, (staticmethod, type)) or _original_of(method) is not None:
                continue
            if callable(method):
                made = method
                for _, make in sorted(self._makes.items()):
                    made = functools.update_wrapper(make(made, name), made)
                setattr(each, name, made)
                setattr(made, _ORIGINAL, (id(made), method))
        self._classes.add(each)


def _original_of(method: Any) -> Any:
    """What a class had before we wrapped it; None where it was not us."""
    identity, original = getattr(method, "__dict__", {}).get(_ORIGINAL, (0, None))
    return original if identity == id(method) else None


_families: dict[Any, EnvClasses] = {}


def wrap_methods(base: Any, rank: int, make: Make) -> None:
    """Wraps the methods of a class and its subclasses; see `Family.add`."""
    _families.setdefault(base, EnvClasses(base)).add(rank, make)


def unwrap_methods(rank: int) -> None:
    """Takes back what was wrapped with this rank."""
    for family in _families.values():
        family.remove(rank)
