"""Known libraries, recorded without an edit of the program: one module a library, wrapped when it is imported.

Each wrapper passes all through: arguments, results, exceptions and signatures are the program's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress

from ticktree.instrument import third_parties
from ticktree.instrument.choice import DEFAULT, chosen, known, refused
from ticktree.instrument.patches import Patches
from ticktree.instrument.registry import BUILT_IN, Instrument, Library
from ticktree.recorder import AUTO_VARIABLE, OWN, Recorder

__all__ = [
    "AUTO_VARIABLE",
    "BUILT_IN",
    "DEFAULT",
    "Instrument",
    "Library",
    "Patches",
    "as_environment",
    "chosen",
    "install",
    "install_from_environment",
    "installed",
    "known",
    "refused",
    "uninstall",
]

_LONGEST_REASON = 200  # characters: an exception may quote a whole file

_installed: dict[str, Library] = {}


def install(*names: str) -> None:
    """Records what known libraries do, in this process and in those that `ticktree` records of its children.

    What is installed already stays. One that cannot be installed is named on standard error and left out.

    Args:
        names: Which, as after `--auto`: names, `default` for all that are not on demand, `-NAME` to leave one out.
            Without any, the default ones.

    Raises:
        TicktreeError: One of them is not known.
    """
    _install(chosen(names or (DEFAULT,)))


def uninstall(*names: str) -> None:
    """Puts back what `install` has wrapped, and what `ticktree run` has.

    Args:
        names: Which; without any, all that is installed.

    Raises:
        TicktreeError: One of them is not known.
    """
    for name in names:
        if name not in _installed:
            chosen((name,))  # known, and not installed: there is nothing to do
    # The last first: one may have wrapped what another had wrapped before.
    for name in names or tuple(reversed(_installed)):
        library = _installed.pop(name, None)
        if library is not None:
            _does(library, "uninstall")
    _tell_children()


def installed() -> tuple[str, ...]:
    """Return the names of the libraries that are recorded by themselves in this process."""
    return tuple(_installed)


def as_environment(libraries: Iterable[Library]) -> str:
    """Return what AUTO_VARIABLE says to a process that is to install them."""
    return ",".join(
        third_parties.to_word(library) if library.distribution else library.name for library in libraries
    )


def install_from_environment() -> None:
    """In a process that was started armed: what its starter asked for, as far as it is known here."""
    built_in = {library.name: library for library in BUILT_IN}
    asked = os.environ.get(AUTO_VARIABLE, "").split(",")
    found = (built_in.get(word) or third_parties.from_word(word) for word in asked)
    _install(library for library in found if library is not None)


def _install(libraries: Iterable[Library]) -> None:
    for library in libraries:
        if library.name in _installed:
            continue
        if _does(library, "install", OWN):
            _installed[library.name] = library
        else:
            with suppress(Exception, SystemExit):  # what it has wrapped before it failed
                library.instrument().uninstall()
    _tell_children()


def _tell_children() -> None:
    # Those that could not be installed are not in it: each is complained of once, not in every process.
    os.environ[AUTO_VARIABLE] = as_environment(_installed.values())


def _does(library: Library, act: str, *args: Recorder) -> bool:
    """Whether it went well; if not, it is said in one line: the program did nothing wrong and goes on."""
    try:
        getattr(library.instrument(), act)(*args)
    except (Exception, SystemExit) as error:  # a third party's code may do anything
        text = " ".join(str(error).split())[:_LONGEST_REASON]
        whose = f" of {library.distribution}" if library.distribution else ""
        why = f"{type(error).__name__}: {text}" if text else type(error).__name__
        print(f"ticktree: library {library.name!r}{whose} is not recorded by itself: {why}", file=sys.stderr)
        return False
    return True
