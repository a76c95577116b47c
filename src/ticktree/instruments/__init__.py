"""Known libraries, recorded without an edit of the program: each is wrapped when the program imports it.

Each wrapper passes everything through: arguments, results, exceptions and signatures are the program's own.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count

from ticktree.instruments import losses, third_parties
from ticktree.instruments.choice import DEFAULT, chosen, known, refused
from ticktree.instruments.patches import Patches
from ticktree.instruments.registry import BUILT_IN, Installable, Library
from ticktree.instruments.targets import Instrument, Target
from ticktree.recorder import INSTRUMENT_VARIABLE, OWN, Recorder
from ticktree.recorder.imports import before_import

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
            _installed[library.name] = _Installation(library)
            _installed[library.name].begin()
    _tell_children()


def _tell_children() -> None:
    # Those that could not be installed are not in it: no child tries them again.
    os.environ[INSTRUMENT_VARIABLE] = as_environment(each.library for each in _installed.values())


class _Installation:
    """One library, from its request until it is taken back.

    Its `order` is its number among all in the order in which they were wrapped; 0 while it waits.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.order = 0
        self._waiting: list[Callable[[], None]] = []
        self._turn = threading.Lock()  # its holder wraps the library, or makes sure that it stays as it is

    def begin(self) -> None:
        """Wrap the library as soon as the program imports it, or now where it has done so."""
        packages = self.library.packages
        if not packages or any(package in sys.modules for package in packages):
            self._wrap()
        else:
            self._waiting += [before_import(package, self._wrap) for package in packages]

    def end(self) -> None:
        """Put back what it has wrapped."""
        self._forget()
        if not self._turn.acquire(blocking=False):
            self._does("uninstall")

    def _wrap(self) -> None:
        if not self._turn.acquire(blocking=False):
            return  # with another of its packages
        self._forget()
        self.order = next(_numbers)
        if not self._does("install", OWN):
            with suppress(Exception, SystemExit):  # what it has wrapped before it failed
                self.library.instrument().uninstall()
            _installed.pop(self.library.name, None)
            _tell_children()

    def _forget(self) -> None:
        while self._waiting:
            self._waiting.pop()()

    def _does(self, act: str, *args: Recorder) -> bool:
        """Whether it succeeded; if not, that is a loss: the program did nothing wrong and continues."""
        by = f" of {self.library.distribution}" if self.library.distribution else ""
        with losses.installing(f"{self.library.name}{by}", ""):
            try:
                getattr(self.library.instrument(), act)(*args)
            except (Exception, SystemExit) as error:  # a third party's code may do anything
                losses.note(losses.current(), "", error)
                return False
        return True


_numbers = count(1)
_installed: dict[str, _Installation] = {}
