"""A requested library: until the program imports it, its instrument is not imported either."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from ticktree.instruments import losses
from ticktree.instruments.registry import Library
from ticktree.recorder import OWN, Recorder
from ticktree.recorder.imports import before_import

_numbers = count(1)


class Installation:
    """One library, from its request until it is taken back.

    Args:
        library: Which.
        failed: Called where it could not be wrapped, after that was reported.

    Attributes:
        library: Which.
        order: Its number among all installations in the order in which they were wrapped; 0 while it waits.
    """

    def __init__(self, library: Library, failed: Callable[[Library], None]) -> None:
        self.library = library
        self.order = 0
        self._failed = failed
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
            self._failed(self.library)

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
