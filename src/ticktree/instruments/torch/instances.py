"""Telling objects of one class apart: `Critic`, `Critic 2`, `Critic 3`, in the order in which they are met."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

# What torch.compile makes of a module: it is the module inside it.
_COMPILED = "OptimizedModule"
# What Lightning makes of an optimizer, say Adam, for manual steps: a LightningAdam, or Fabric a FabricAdam.
_AROUND_OPTIMIZERS = ("Lightning", "Fabric")
# Of one class so many are distinguished: two critics and their targets. Those beyond share a name, since a
# user with twenty models, or the layers of one, reads no row for each.
MOST = 4

_T = TypeVar("_T")


def itself(thing: Any) -> Any:
    """Return the object that another one wraps; most are themselves."""
    kind = type(thing).__name__
    if kind == _COMPILED:
        return thing._orig_mod
    if kind.startswith(_AROUND_OPTIMIZERS):
        inner = getattr(thing, "__dict__", {}).get("_optimizer")
        if kind in {beginning + type(inner).__name__ for beginning in _AROUND_OPTIMIZERS}:
            return inner
    return thing


class Instances(Generic[_T]):
    """What is kept for each object, by its name.

    The number of one that is gone is given to the next: a loss that is made again in every step has one name.

    Args:
        make: Makes what is kept, of a name and the first object that has it.
    """

    def __init__(self, make: Callable[[str, Any], _T]) -> None:
        self._make = make
        self._known: dict[int, tuple[weakref.ref[Any], _T]] = {}
        self._made: dict[str, _T] = {}
        self._taken: dict[str, set[int]] = {}

    def of(self, thing: Any) -> _T:
        """Returns what is kept for an object."""
        known = self._known.get(id(thing))
        if known is not None and known[0]() is thing:
            return known[1]
        return self._meet(thing)

    def _meet(self, thing: Any) -> _T:
        inner = itself(thing)
        if inner is not thing:
            return self.of(inner)
        kind = type(thing).__name__
        taken = self._taken.setdefault(kind, set())
        number = next(number for number in range(1, len(taken) + 2) if number not in taken)
        made = self._named(kind, number, thing)
        where = id(thing)

        def forget(gone: weakref.ref[Any]) -> None:
            taken.discard(number)
            known = self._known.get(where)
            if known is not None and known[0] is gone:
                del self._known[where]

        taken.add(number)
        self._known[where] = (weakref.ref(thing, forget), made)
        return made

    def _named(self, kind: str, number: int, thing: Any) -> _T:
        name = kind if number == 1 else f"{kind} {number}" if number <= MOST else f"{kind}, others"
        if name not in self._made:
            self._made[name] = self._make(name, thing)
        return self._made[name]
