"""Ray: every task and actor of a program's job, wherever in the cluster it runs, and what is waited for.

The driver's side is installed when the program imports Ray: a job that it then connects carries, in the hook that Ray
runs as each of its workers starts, what makes the worker record. Each call carries the names of the sections that it
was made in, so that what it does hangs there.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps Ray's functions when it is imported."""

    def imported(_: ModuleType) -> None:
        from ticktree.instrument.ray import driver, submitting, waiting

        submitting.wrap(_patches, recorder)
        waiting.wrap(_patches, recorder)
        driver.wrap(_patches, recorder)

    _patches.watch("ray", imported)


def uninstall() -> None:
    """Puts everything back. Workers that have begun to record go on until their job ends."""
    _patches.undo()
