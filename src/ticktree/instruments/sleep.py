"""Sleeps: waits, so that a loop which holds its rate by them is not taken to work all the time."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Channel, Recorder, Redirection, Wait, in_tick


def _wrap_function(
    name: str, recorder: Recorder, patches: Patches, module: ModuleType, *, everywhere: bool
) -> None:
    """Modules that have taken it as their own before, as those of the standard library do, keep theirs."""
    sleeping = Wait(Channel(recorder, "sleep", own=True), f"{module.__name__}.{name}")  # no thread ends it

    def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not (everywhere or in_tick(recorder)):
            return function(*args, **kwargs)
        return sleeping.call(function, args)

    around = Redirection()
    around.way = call
    patches.section(module, name, sleeping.section, redirection=around)


def _wrap_everywhere(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    _wrap_function("sleep", recorder, patches, module, everywhere=True)


def _wrap_in_ticks(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    _wrap_function("sleep", recorder, patches, module, everywhere=False)


def _wrap_select(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    if hasattr(module, "select"):  # else it is a module of the program's own
        _wrap_function("select", recorder, patches, module, everywhere=False)


def _wrap_coroutine(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.section("asyncio.sleep", wait=True)

    def make(sleep: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapper(delay: float, *args: Any, **kwargs: Any) -> Any:
            if not in_tick(recorder):
                return await sleep(delay, *args, **kwargs)
            with section:
                return await sleep(delay, *args, **kwargs)

        return wrapper

    patches.wrap(module, "sleep", make)


# In a section a sleep may simulate its work, as of a slow sensor or of a worker that lags behind: as a wait
# it would excuse them.
INSTRUMENT = Instrument(
    "", hooks={"time": _wrap_in_ticks, "asyncio": _wrap_coroutine, "select": _wrap_select}
)
EVERYWHERE = Instrument("", hooks={"time": _wrap_everywhere})
