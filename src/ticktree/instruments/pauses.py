"""What stops a loop: sleeps, which are waits, full collections of the garbage collector, and writes to the disk.

A sleep is a wait so that a loop which holds its rate by it is not taken to work all the time. Writes that wait for the
disk are none, for waits are no work of their tick: a tick that the disk makes late is missed. Short collections, of
young objects only, come a hundred times as often as full ones and are a few microseconds each: they are in the causes
of a loop's worst ticks, as all pauses are, and have no row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Hook, Instrument
from ticktree.recorder import Channel, Recorder, Wait, in_tick, is_inside
from ticktree.recorder.site import NO_SITE

GC_PAUSE = "gc pause"

_OLDEST = 2


def _sleeping(name: str, *, everywhere: bool = False, required: bool = True) -> Hook:
    """Modules that have taken it as their own before, as those of the standard library do, keep theirs."""

    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        if not required and not hasattr(module, name):
            return
        sleeping = Wait(
            Channel(recorder, "sleep", own=True), f"{module.__name__}.{name}"
        )  # no thread ends it

        def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if kwargs or not (everywhere or in_tick(recorder)):
                return function(*args, **kwargs)
            return sleeping.call(function, args)

        patches.section(module, name, sleeping.section, way=call)

    return wrap


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


class _Pausing(threading.local):
    is_open = False


def _wrap_collector(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section, pausing = recorder.timed_section(GC_PAUSE, NO_SITE), _Pausing()

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            # Where nothing is open it interrupts nothing that has a row: imports, mostly.
            if info.get("generation") == _OLDEST and is_inside(recorder):
                pausing.is_open = True
                section.__enter__()
        elif pausing.is_open:
            pausing.is_open = False
            section.__exit__(None, None, None)

    module.callbacks.append(note)
    patches.on_undo(lambda: module.callbacks.remove(note) if note in module.callbacks else None)


def _wrap_disk(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    for name in ("fsync", "fdatasync", "sync"):
        if hasattr(module, name):  # not every system has all of them
            patches.section(module, name, recorder.timed_section(f"{module.__name__}.{name}", NO_SITE))


# In a section a sleep may simulate its work, as of a slow sensor or of a worker that lags behind: as a wait
# it would excuse them.
PACING = Instrument(
    "",
    hooks={
        "time": _sleeping("sleep"),
        "asyncio": _wrap_coroutine,
        "select": _sleeping("select", required=False),  # it may be a module of the program's own
    },
)
SLEEP = Instrument("", hooks={"time": _sleeping("sleep", everywhere=True)})
GC = Instrument("", hooks={"gc": _wrap_collector})
DISK = Instrument("", hooks={"os": _wrap_disk})
