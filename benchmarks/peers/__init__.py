"""Adapters of other timers: each uses the cheapest form that the timer's documentation shows.

An adapter is a module here whose `load()` is a context manager that gives its peers. It imports its library
in there, so that one which is not installed costs its own row and nothing else.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module, metadata

from harness.race import Block, Contender, Cost
from harness.report import Absent
from harness.sections import Section, by_name

ADAPTERS = (
    "mlagents",
    "torchrl",
    "codetiming",
    "with_line_profiler",
    "viztracer",
    "opentelemetry",
    "nvtx",
)


def nothing_kept() -> None:
    """What a peer forgets whose memory does not grow."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another timer, ready to be entered.

    Attributes:
        name: the call that is measured, as the table prints it.
        distribution: the package whose version is printed with it.
        section: opens a section by name; None where the library has no `with` form in this peer.
        block: enters and leaves one empty section a turn.
        note: what a reader must know to compare fairly.
        forget: drops what was recorded, so that a growing memory is not charged to the next repeat.
        total_s: the seconds recorded so far under a name, where the library reports them. A path, with slashes.
    """

    name: str
    distribution: str
    section: Section | None
    block: Block
    note: str = ""
    forget: Callable[[], object] = nothing_kept
    total_s: Callable[[str], float] | None = None

    @classmethod
    def of_section(
        cls,
        name: str,
        distribution: str,
        section: Section,
        note: str = "",
        forget: Callable[[], object] = nothing_kept,
        total_s: Callable[[str], float] | None = None,
    ) -> Peer:
        """A peer whose sections are context managers."""
        return cls(name, distribution, section, by_name(section), note, forget, total_s)

    @property
    def described(self) -> str:
        """The package with its version, and the note."""
        package = f"{self.distribution} {metadata.version(self.distribution)}"
        return f"{package}; {self.note}" if self.note else package

    @contextmanager
    def session(self) -> Iterator[None]:
        """One repeat's worth of recording."""
        try:
            yield
        finally:
            self.forget()

    def contender(self) -> Contender:
        """This peer in a race of empty sections."""
        return Contender(self.name, Cost(self.block), session=self.session)


def load_peers(stack: ExitStack, adapters: Sequence[str] = ADAPTERS) -> tuple[list[Peer], list[Absent]]:
    """Every peer that can be had here, open until the stack closes, and why the others cannot be had."""
    present: list[Peer] = []
    absent: list[Absent] = []
    for adapter in adapters:
        module = import_module(f"peers.{adapter}")
        try:
            contenders = stack.enter_context(module.load())
            require_quiet()
        except Exception as error:  # any error of a library while it loads is the reason of its absence
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            absent.append(Absent(module.DISTRIBUTION, f"{type(error).__name__}: {reason}"))
        else:
            present += contenders
    return present, absent


def require_quiet() -> None:
    """One peer's tracing must not slow down the others, nor the yardstick.

    Raises:
        RuntimeError: a profile or trace function is installed, here or for new threads. It is out now.
    """
    hooks = (sys.getprofile(), sys.gettrace(), threading.getprofile(), threading.gettrace())
    if any(function is not None for function in hooks):
        for module in (sys, threading):
            module.setprofile(None)
            module.settrace(None)
        raise RuntimeError("left a profile function behind, which would slow down every row of the table")
