"""Which libraries are meant by the words of `--instrument` and of `install`."""

from __future__ import annotations

from collections.abc import Iterable

from ticktree.errors import TicktreeError, did_you_mean
from ticktree.instruments import third_parties
from ticktree.instruments.registry import BUILT_IN, Library

# All that is not on demand.
DEFAULT = "default"


def known() -> tuple[Library, ...]:
    """Return every library that can be instrumented here, in the order in which they are installed."""
    names = {library.name for library in BUILT_IN}
    others = []
    for library in third_parties.found():
        if library.name not in names and library.name != DEFAULT:  # else the name would be ambiguous
            names.add(library.name)
            others.append(library)
    return (*BUILT_IN, *others)


def refused() -> tuple[Library, ...]:
    """Return third parties' libraries whose names are taken."""
    there = known()
    return tuple(library for library in third_parties.found() if library not in there)


def chosen(words: Iterable[str]) -> tuple[Library, ...]:
    """Return the libraries that are meant, in the order in which they are installed.

    Args:
        words: Names; `default` means all that are not on demand, and `-NAME` leaves one out: of those, where
            it comes first.

    Raises:
        TicktreeError: One of them is not known.
    """
    wanted: set[str] = set()
    left_out: set[str] = set()
    for place, word in enumerate(words):
        if word == DEFAULT or (place == 0 and word.startswith("-")):
            wanted.update(library.name for library in known() if not library.on_demand)
        if word.startswith("-"):
            left_out.add(_checked(word[1:]))
        elif word != DEFAULT:
            wanted.add(_checked(word))
    names = wanted - left_out
    # Third parties are looked for only where they may be meant.
    there = BUILT_IN if names <= {library.name for library in BUILT_IN} else known()
    return tuple(library for library in there if library.name in names)


def _checked(name: str) -> str:
    if any(library.name == name for library in BUILT_IN):
        return name
    names = [library.name for library in known()]
    if name not in names:
        hint = did_you_mean(name, names) or f"; those that are: {', '.join(names)}"
        raise TicktreeError(f"no library {name!r} is known{hint}")
    return name
