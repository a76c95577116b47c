"""Names for objects of one class: `Critic`, `Critic 2`, `Critic 3`, in the order in which they are first used."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

# torch.compile's class around a module.
_COMPILED = "OptimizedModule"
# Lightning's classes around an optimizer, say Adam, for manual steps: LightningAdam, or FabricAdam.
_OPTIMIZER_PREFIXES = ("Lightning", "Fabric")
# So many objects of one class are distinguished: two critics and their targets. The others share a name, since a
# user with twenty models, or the layers of one, reads no row for each.
MAX_NUMBER = 4

_T = TypeVar("_T")


def unwrap(instance: Any) -> Any:
    """Return the object that a wrapper contains; for other objects, the object itself."""
    kind = type(instance).__name__
    if kind == _COMPILED:
        return instance._orig_mod
    if kind.startswith(_OPTIMIZER_PREFIXES):
        inner = getattr(instance, "__dict__", {}).get("_optimizer")
        if kind in {prefix + type(inner).__name__ for prefix in _OPTIMIZER_PREFIXES}:
            return inner
    return instance


class Instances(Generic[_T]):
    """A value for each object, by its name.

    The number of an object that was freed goes to the next: a loss that is created in every step has one name.

    Args:
        make: Makes the value of a name; gets the name and its first object.
    """

    def __init__(self, make: Callable[[str, Any], _T]) -> None:
        self._make = make
        self._by_id: dict[int, tuple[weakref.ref[Any], _T]] = {}
        self._by_name: dict[str, _T] = {}
        self._numbers: dict[str, set[int]] = {}  # in use, by class

    def get(self, instance: Any) -> _T:
        """Return the value of an object."""
        entry = self._by_id.get(id(instance))
        if entry is not None and entry[0]() is instance:
            return entry[1]
        return self._add(instance)

    def _add(self, instance: Any) -> _T:
        inner = unwrap(instance)
        if inner is not instance:
            return self.get(inner)
        kind = type(instance).__name__
        numbers = self._numbers.setdefault(kind, set())
        number = next(number for number in range(1, len(numbers) + 2) if number not in numbers)
        value = self._get_by_name(kind, number, instance)
        key = id(instance)

        def forget(ref: weakref.ref[Any]) -> None:
            numbers.discard(number)
            if self._by_id.get(key, (None,))[0] is ref:
                del self._by_id[key]

        numbers.add(number)
        self._by_id[key] = (weakref.ref(instance, forget), value)
        return value

    def _get_by_name(self, kind: str, number: int, instance: Any) -> _T:
        name = kind if number == 1 else f"{kind} {number}" if number <= MAX_NUMBER else f"{kind}, others"
        if name not in self._by_name:
            self._by_name[name] = self._make(name, instance)
        return self._by_name[name]
