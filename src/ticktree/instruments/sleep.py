"""time.sleep: a wait, so that a loop which holds its rate by it is not taken to work all the time."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Channel, Redirection, Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from ticktree.recorder import Recorder

NAME = "time.sleep"


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Modules that have taken it as their own before, as those of the standard library do, keep theirs."""
    sleeping = Wait(Channel(recorder, "sleep", own=True), NAME)  # nobody ends it

    def sleep(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if kwargs else sleeping.call(function, args)

    around = Redirection()
    around.way = sleep
    patches.section(module, "sleep", sleeping.section, redirection=around)


INSTRUMENT = Instrument("", hooks={"time": _wrap})
