"""Telling objects of one class apart: `forward Critic`, `forward Critic 2`, in the order in which they are met."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticktree.recorder import Section

# Of one class so many are told apart; those beyond share a row.
MOST = 16


class Instances:
    """A section for each object.

    The number of one that is gone is given to the next: a loss that is made anew in every step has one row.

    Args:
        make: Makes the section of a name, for an object.
        verb: What the names begin with.
    """

    def __init__(self, make: Callable[[str, Any], Section], verb: str) -> None:
        self._make = make
        self._verb = verb
        self._known: dict[int, tuple[weakref.ref[Any], Section]] = {}
        self._sections: dict[str, Section] = {}
        self._taken: dict[str, set[int]] = {}

    def section(self, thing: Any) -> Section:
        """Returns the section of an object's own."""
        known = self._known.get(id(thing))
        if known is not None and known[0]() is thing:
            return known[1]
        return self._meet(thing)

    def _meet(self, thing: Any) -> Section:
        name = _class_name(thing)
        taken = self._taken.setdefault(name, set())
        number = next(number for number in range(1, len(taken) + 2) if number not in taken)
        section = self._named(name, number, thing)
        where = id(thing)

        def forget(gone: weakref.ref[Any]) -> None:
            taken.discard(number)
            known = self._known.get(where)
            if known is not None and known[0] is gone:
                del self._known[where]

        taken.add(number)
        self._known[where] = (weakref.ref(thing, forget), section)
        return section

    def _named(self, name: str, number: int, thing: Any) -> Section:
        said = f"{self._verb} {name}"
        if number > 1:
            said += f" {number}" if number <= MOST else ", others"
        if said not in self._sections:
            self._sections[said] = self._make(said, thing)
        return self._sections[said]


def _class_name(thing: Any) -> str:
    """The name of its class; of a module that was given to `torch.compile`, of the one inside."""
    inside = vars(thing).get("_modules", {}).get("_orig_mod")
    return type(thing if inside is None else inside).__name__
