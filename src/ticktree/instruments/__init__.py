"""Known libraries, recorded without an edit of the program: each is wrapped when the program imports it.

Each wrapper passes everything through: arguments, results, exceptions and signatures are the program's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from ticktree.instruments import third_parties
from ticktree.instruments.choice import DEFAULT, chosen, known, refused
from ticktree.instruments.installation import Installation
from ticktree.instruments.patches import Patches
from ticktree.instruments.registry import BUILT_IN, Installable, Library
from ticktree.instruments.targets import Instrument, Target
from ticktree.recorder import INSTRUMENT_VARIABLE

__all__ = [
    "BUILT_IN",
    "DEFAULT",
    "INSTRUMENT_VARIABLE",
    "Installable",
    "Instrument",
    "Library",
    "Patches",
    "Target",
    "as_environment",
    "chosen",
    "install",
    "install_from_environment",
    "installed",
    "known",
    "refused",
    "uninstall",
]

_installed: dict[str, Installation] = {}


def install(*names: str) -> None:
    """Record what known libraries do, in this process and in those that `ticktree` records of its children.

    What is installed already stays. One that cannot be installed is named on standard error and left out.

    Args:
        names: As after `--instrument`: names, `default` for all that are not on demand, `-NAME` to leave one out.
            Without any, the default ones.

    Raises:
        TicktreeError: One of them is not known.
    """
    _install(chosen(names or (DEFAULT,)))


def uninstall(*names: str) -> None:
    """Put back what `install` has wrapped, and what `ticktree run` has.

    Args:
        names: Which; without any, all that is installed.

    Raises:
        TicktreeError: One of them is not known.
    """
    for name in names:
        if name not in _installed:
            chosen((name,))  # known, and not installed: there is nothing to do
    taken_back = [_installed.pop(name) for name in names or tuple(_installed) if name in _installed]
    # The last first: one may have wrapped what another had wrapped before.
    for installation in sorted(taken_back, key=lambda each: each.order, reverse=True):
        installation.end()
    _tell_children()


def installed() -> tuple[str, ...]:
    """Return the names of the libraries that are instrumented in this process."""
    return tuple(_installed)


def as_environment(libraries: Iterable[Library]) -> str:
    """Return what INSTRUMENT_VARIABLE tells a process that is to install them."""
    return ",".join(
        third_parties.to_word(library) if library.distribution else library.name for library in libraries
    )


def install_from_environment() -> None:
    """In a process that was started armed: install what its parent requested, as far as it is known here."""
    built_in = {library.name: library for library in BUILT_IN}
    names = filter(None, os.environ.get(INSTRUMENT_VARIABLE, "").split(","))
    found = (built_in.get(word) or third_parties.from_word(word) for word in names)
    _install(library for library in found if library is not None)


def _install(libraries: Iterable[Library]) -> None:
    for library in libraries:
        if library.name not in _installed:
            _installed[library.name] = Installation(library, _leave_out)
            _installed[library.name].begin()
    _tell_children()


def _leave_out(library: Library) -> None:
    _installed.pop(library.name, None)
    _tell_children()


def _tell_children() -> None:
    # Those that could not be installed are not in it: no child tries them again.
    os.environ[INSTRUMENT_VARIABLE] = as_environment(each.library for each in _installed.values())
