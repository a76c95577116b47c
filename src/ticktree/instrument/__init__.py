"""Known libraries, recorded without an edit of the program: one module a library, wrapped when it is imported.

Each wrapper passes all through: arguments, results, exceptions and signatures are the program's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from typing import Protocol

from ticktree.errors import TicktreeError
from ticktree.recorder import OWN, Recorder

# What processes that are started under `ticktree run` are to install.
AUTO_VARIABLE = "TICKTREE_AUTO"

_MODULES = {
    "waits": "ticktree.instrument.waits",
    "gymnasium": "ticktree.instrument.gymnasium",
    "torch": "ticktree.instrument.torch",
    "torch-compile": "ticktree.instrument.torch.compiling",
}
KNOWN = tuple(_MODULES)

_installed: list[str] = []


class Instrument(Protocol):
    """What each library's module has."""

    def install(self, recorder: Recorder) -> None:
        """Wraps the library's functions: now, or when it is imported."""

    def uninstall(self) -> None:
        """Puts them back."""


def install(*names: str) -> None:
    """Records what known libraries do, in this process and in those that `ticktree` records of its children.

    Args:
        names: Which of `ticktree.instrument.KNOWN`; without any, all. What is installed already stays.

    Raises:
        TicktreeError: One of them is not known.
    """
    for name in checked(names or KNOWN):
        if name not in _installed:
            _instrument(name).install(OWN)
            _installed.append(name)
    os.environ[AUTO_VARIABLE] = ",".join(_installed)


def uninstall(*names: str) -> None:
    """Puts back what `install` has wrapped.

    Args:
        names: Which; without any, all that is installed.

    Raises:
        TicktreeError: One of them is not known.
    """
    for name in checked(names or tuple(_installed)):
        if name in _installed:
            _installed.remove(name)
            _instrument(name).uninstall()
    os.environ[AUTO_VARIABLE] = ",".join(_installed)


def checked(names: Iterable[str]) -> tuple[str, ...]:
    """The names, all of them known.

    Raises:
        TicktreeError: One of them is not.
    """
    names = tuple(names)
    for name in names:
        if name not in _MODULES:
            raise TicktreeError(f"no library {name!r} is known; those that are: {', '.join(KNOWN)}")
    return names


def install_from_environment() -> None:
    """In a process that was started armed: what its starter asked for."""
    asked = os.environ.get(AUTO_VARIABLE, "")
    names = [name for name in asked.split(",") if name in _MODULES]
    if names:
        install(*names)


def _instrument(name: str) -> Instrument:
    module: Instrument = import_module(_MODULES[name])
    return module
