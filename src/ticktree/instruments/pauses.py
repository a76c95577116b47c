"""Pauses of a loop: sleeps, which are waits, full collections of the garbage collector, and writes to the disk.

A sleep is a wait, so that a loop that holds its rate by sleeping does not count as always busy. Writes that wait for
the disk are no waits, because waits do not count as busy time: a tick that the disk makes late is missed. Short
collections, of young objects only, are a hundred times as frequent as full ones and take a few microseconds each: they
are among the causes of a loop's worst ticks, like all pauses, and have no row.
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

_OLDEST_GENERATION = 2


def _wrap_sleep(name: str, *, everywhere: bool = False, required: bool = True) -> Hook:
    """Wrap a sleep; modules that have imported the function before, as the standard library's do, keep it."""

    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        if not required and not hasattr(module, name):
            return
        # No thread ends this wait.
        sleep = Wait(Channel(recorder, "sleep", own=True), f"{module.__name__}.{name}")

        def around(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if kwargs or not (everywhere or in_tick(recorder)):
                return function(*args, **kwargs)
            return sleep.call(function, args)

        patches.section(module, name, sleep.section, around=around)

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


class _Pause(threading.local):
    is_open = False


def _wrap_collector(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section, pause = recorder.timed_section(GC_PAUSE, NO_SITE), _Pause()

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            # Outside sections it interrupts nothing that has a row: mostly imports.
            if info.get("generation") == _OLDEST_GENERATION and is_inside(recorder):
                pause.is_open = True
                section.__enter__()
        elif pause.is_open:
            pause.is_open = False
            section.__exit__(None, None, None)

    module.callbacks.append(note)
    patches.on_undo(lambda: module.callbacks.remove(note) if note in module.callbacks else None)


def _wrap_disk(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    for name in ("fsync", "fdatasync", "sync"):
        if hasattr(module, name):  # not every system has all of them
            patches.section(module, name, recorder.timed_section(f"{module.__name__}.{name}", NO_SITE))


# In a section a sleep may simulate work, such as a slow sensor's or a straggler's: as a wait it would excuse them.
PACING = Instrument(
    "",
    hooks={
        "time": _wrap_sleep("sleep"),
        "asyncio": _wrap_coroutine,
        "select": _wrap_sleep("select", required=False),  # it may be one of the program's modules
    },
)
SLEEP = Instrument("", hooks={"time": _wrap_sleep("sleep", everywhere=True)})
GC = Instrument("", hooks={"gc": _wrap_collector})
DISK = Instrument("", hooks={"os": _wrap_disk})
