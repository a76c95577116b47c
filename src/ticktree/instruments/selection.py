"""The libraries that the names of `--instrument` and of `install` select."""

from __future__ import annotations

from collections.abc import Iterable

from ticktree.errors import TicktreeError, did_you_mean
from ticktree.instruments import third_parties
from ticktree.instruments.registry import BUILT_IN, Library

# All that is not on demand.
DEFAULT = "default"
_BUILT_IN_NAMES = frozenset(library.name for library in BUILT_IN)


def available_libraries() -> tuple[Library, ...]:
    """Return every library that can be instrumented here, in the order in which they are installed."""
    names = {
        DEFAULT,
        *_BUILT_IN_NAMES,
    }  # no other library may have one of these, or the name would be ambiguous
    libraries = list(BUILT_IN)
    for library in third_parties.find_libraries():
        if library.name not in names:
            names.add(library.name)
            libraries.append(library)
    return tuple(libraries)


def shadowed_libraries() -> tuple[Library, ...]:
    """Return third parties' libraries whose names are taken."""
    available = available_libraries()
    return tuple(library for library in third_parties.find_libraries() if library not in available)


def select_libraries(words: Iterable[str]) -> tuple[Library, ...]:
    """Return the libraries that some words select, in the order in which they are installed.

    Args:
        words: Names; `default` means all that are not on demand, and `-NAME` leaves one out: from the default
            ones, if it is the first word.

    Raises:
        TicktreeError: A name is unknown.
    """
    included: set[str] = set()
    excluded: set[str] = set()
    for index, word in enumerate(words):
        if word == DEFAULT or (index == 0 and word.startswith("-")):
            included.update(library.name for library in available_libraries() if not library.on_demand)
        if word.startswith("-"):
            excluded.add(_check_name(word[1:]))
        elif word != DEFAULT:
            included.add(_check_name(word))
    names = included - excluded
    # Search for third parties' libraries only if they may be selected.
    libraries = BUILT_IN if names <= _BUILT_IN_NAMES else available_libraries()
    return tuple(library for library in libraries if library.name in names)


def _check_name(name: str) -> str:
    if name in _BUILT_IN_NAMES:
        return name
    names = [library.name for library in available_libraries()]
    if name not in names:
        hint = did_you_mean(name, names) or f"; those that are: {', '.join(names)}"
        raise TicktreeError(f"no library {name!r} is known{hint}")
    return name
