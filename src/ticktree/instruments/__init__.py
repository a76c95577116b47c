"""Record known libraries without an edit of the program: each is wrapped when the program imports it.

Wrappers pass everything through: arguments, results, exceptions and signatures are the program's own.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count

from ticktree.instruments import losses, third_parties
from ticktree.instruments.patches import Patches
from ticktree.instruments.registry import BUILT_IN, Installable, Library
from ticktree.instruments.selection import DEFAULT, available_libraries, select_libraries, shadowed_libraries
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
    "available_libraries",
    "install",
    "install_from_environment",
    "installed_names",
    "select_libraries",
    "shadowed_libraries",
    "uninstall",
]


def install(*names: str) -> None:
    """Record what known libraries do, in this process and in those of its children that `ticktree` records.

    Installed instruments stay. One that cannot be installed is named on standard error and left out.

    Args:
        names: As for `--instrument`: names, `default` for all that are not on demand, `-NAME` to leave one out.
            Without any, the default ones.

    Raises:
        TicktreeError: A name is unknown.
    """
    _install(select_libraries(names or (DEFAULT,)))


def uninstall(*names: str) -> None:
    """Restore what `install` and `ticktree run` have wrapped.

    Args:
        names: The libraries; without any, all that are installed.

    Raises:
        TicktreeError: A name is unknown.
    """
    for name in names:
        if name not in _installed:
            select_libraries((name,))  # raises if the name is unknown; a known library needs nothing here
    installations = [_installed.pop(name) for name in names or tuple(_installed) if name in _installed]
    # The last first: an instrument may have wrapped what another had wrapped before.
    for installation in sorted(installations, key=lambda installation: installation.order, reverse=True):
        installation.end()
    _update_environment()


def installed_names() -> tuple[str, ...]:
    """Return the names of the libraries that are instrumented in this process."""
    return tuple(_installed)


def as_environment(libraries: Iterable[Library]) -> str:
    """Return the value of INSTRUMENT_VARIABLE that makes a process install them."""
    return ",".join(
        third_parties.to_text(library) if library.distribution else library.name for library in libraries
    )


def install_from_environment() -> None:
    """In a process that was started armed, install the libraries that its parent requested and that are known here."""
    built_in = {library.name: library for library in BUILT_IN}
    names = os.environ.get(INSTRUMENT_VARIABLE, "").split(",")
    _install(filter(None, (built_in.get(name) or third_parties.from_text(name) for name in names)))


def _install(libraries: Iterable[Library]) -> None:
    for library in libraries:
        if library.name not in _installed:
            _installed[library.name] = _Installation(library)
            _installed[library.name].begin()
    _update_environment()


def _update_environment() -> None:
    # Libraries that could not be installed are not in it: no child tries them again.
    os.environ[INSTRUMENT_VARIABLE] = as_environment(
        installation.library for installation in _installed.values()
    )


class _Installation:
    """One library, from its request until it is uninstalled.

    `order` numbers installations in the order in which they were wrapped; 0 before that.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.order = 0
        self._import_hooks: list[Callable[[], None]] = []  # each removes itself when it is called
        self._wrap_lock = threading.Lock()  # never released: its holder wraps the library, or prevents that

    def begin(self) -> None:
        """Wrap the library as soon as the program imports it, or now if it already has."""
        packages = self.library.packages
        if not packages or any(package in sys.modules for package in packages):
            self._wrap()
        else:
            self._import_hooks += [before_import(package, self._wrap) for package in packages]

    def end(self) -> None:
        """Restore what it has wrapped."""
        self._remove_import_hooks()
        if not self._wrap_lock.acquire(blocking=False):
            self._try("uninstall")

    def _wrap(self) -> None:
        if not self._wrap_lock.acquire(blocking=False):
            return  # it was wrapped with another of its packages
        self._remove_import_hooks()
        self.order = next(_order)
        if not self._try("install", OWN):
            with suppress(Exception, SystemExit):  # it may have wrapped something before it failed
                self.library.instrument().uninstall()
            _installed.pop(self.library.name, None)
            _update_environment()

    def _remove_import_hooks(self) -> None:
        while self._import_hooks:
            self._import_hooks.pop()()

    def _try(self, method: str, *args: Recorder) -> bool:
        """Call a method of the instrument; return False if it fails, which is a loss: the program continues."""
        origin = f" of {self.library.distribution}" if self.library.distribution else ""
        with losses.installing(f"{self.library.name}{origin}", ""):
            try:
                getattr(self.library.instrument(), method)(*args)
            except (Exception, SystemExit) as error:  # a third party's code may do anything
                losses.note(losses.current(), "", error)
                return False
        return True


_order = count(1)
_installed: dict[str, _Installation] = {}
