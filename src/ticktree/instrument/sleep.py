"""time.sleep: a wait, so that a loop which holds its rate by it is not taken to work all the time."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.functions import stand_in
from ticktree.instrument.patches import Patches
from ticktree.recorder import Channel, Wait

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

NAME = "time.sleep"

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps it; modules that have taken it as their own before, as those of the standard library do, keep theirs."""
    _patches.watch("time", lambda module: _wrap(recorder, module))


def uninstall() -> None:
    """Puts it back."""
    _patches.undo()


def _wrap(recorder: Recorder, module: ModuleType) -> None:
    sleep = module.sleep
    sleeping = Wait(Channel(recorder, "sleep", own=True), NAME)  # nobody ends it

    def call(*args: Any, **kwargs: Any) -> Any:
        return sleep(*args, **kwargs) if kwargs else sleeping.call(sleep, args)

    _patches.put(module, "sleep", stand_in(sleep, call))
