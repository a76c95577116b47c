"""Processes of multiprocessing: a child continues its starter's path, and its end wakes `join`.

And other programs that are started and waited for: `subprocess`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.waits import signalling, waiting
from ticktree.recorder import Channel, Recorder, Wait


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps `multiprocessing.Process`: in the parent that starts one, and in the child."""
    starts, ends = Channel(recorder, "process start"), Channel(recorder, "process end")
    installed_in = os.getpid()

    def make_bootstrap(bootstrap: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            # Else it is a fork of us, and has our path.
            if getattr(self, "_parent_pid", None) != installed_in:
                recorder.start_from(starts, _key(self))
            try:
                return bootstrap(self, *args, **kwargs)
            finally:
                ends.wakes(_key(self))

        return wrapper

    patches.wrap_own(module, "BaseProcess.start", signalling(starts, _key))
    patches.wrap_own(module, "BaseProcess._bootstrap", make_bootstrap)
    patches.wrap_own(module, "BaseProcess.join", waiting(ends, "Process.join", _key, came=_has_ended))


def _key(process: Any) -> tuple[int, ...]:
    """The same in the process and in its parent."""
    return (getattr(process, "_parent_pid", 0), *getattr(process, "_identity", ()))


def _has_ended(process: Any) -> Callable[[Any], bool]:
    return lambda _: getattr(getattr(process, "_popen", None), "returncode", None) is not None


def wrap_programs(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps waiting for a program's end and for its output; these waits have no wake edge."""
    ends = Channel(recorder, "program end", own=True)
    talking = Wait(ends, "Popen.communicate")

    def make_communicate(communicate: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, input: Any = None, timeout: float | None = None) -> Any:  # noqa: A002
            return talking.call(communicate, (self, input, timeout))

        return wrapper

    wait = waiting(ends, "Popen.wait", lambda _: None, unless=lambda popen: popen.returncode is not None)
    patches.wrap_own(module, "Popen.wait", wait)
    patches.wrap_own(module, "Popen.communicate", make_communicate)
