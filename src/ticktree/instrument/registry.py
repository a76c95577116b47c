"""The libraries that ticktree knows: one entry each, in the order in which they are installed.

To add one: write its module with `install(recorder)` and `uninstall()` beside this file, and its entry here. Other
distributions bring theirs by entry point (third_parties.py).
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, Protocol, cast

from ticktree.recorder import Recorder


class Instrument(Protocol):
    """What each library's module has."""

    def install(self, recorder: Recorder) -> None:
        """Wraps the library's functions: now, or when it is imported."""

    def uninstall(self) -> None:
        """Puts them back."""


class Library(NamedTuple):
    """A library that can be recorded by itself.

    Attributes:
        name: what it is called in `--auto`.
        module: what has its `install` and `uninstall`; `MODULE:ATTRIBUTE` where a third party keeps them elsewhere.
        adds: the rows that it adds, in one sentence.
        package: what the program imports of it; "" where that is always there.
        on_demand: whether it is recorded only where it is asked for by name.
        distribution: who brings it; "" for ticktree itself.
    """

    name: str
    module: str
    adds: str
    package: str = ""
    on_demand: bool = False
    distribution: str = ""

    def instrument(self) -> Instrument:
        """Return what wraps it. A third party's may raise anything, or not be one."""
        module, _, attribute = self.module.partition(":")
        found: object = import_module(module)
        for name in filter(None, attribute.split(".")):
            found = getattr(found, name)
        for needed in ("install", "uninstall"):
            if not callable(getattr(found, needed, None)):
                raise TypeError(f"{self.module} has no {needed}()")
        return cast("Instrument", found)


BUILT_IN: tuple[Library, ...] = (
    Library(
        "waits",
        "ticktree.instrument.waits",
        "A row for each wait at a queue, pipe, lock, thread, process or future, and who ended it.",
    ),
    Library(
        "gymnasium",
        "ticktree.instrument.gymnasium",
        "Sending to the workers of an AsyncVectorEnv and waiting for them, apart.",
        package="gymnasium",
    ),
    Library(
        "torch",
        "ticktree.instrument.torch",
        "Backward passes whose gradients are thrown away, and what is given to torch.compile.",
        package="torch",
    ),
    Library(
        "torch-compile",
        "ticktree.instrument.torch_compile",
        "A row for each compilation, where it happens.",
        package="torch",
    ),
)
