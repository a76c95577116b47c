"""Processes of multiprocessing: a child continues its parent's path, and its end wakes `join`.

Also other programs that `subprocess` starts and waits for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.waits import make_signal, make_wait
from ticktree.recorder import Channel, Recorder, Wait


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wrap `multiprocessing.Process`, in the parent and in the child."""
    starts, ends = Channel(recorder, "process start"), Channel(recorder, "process end")
    installing_pid = os.getpid()

    def make_bootstrap(bootstrap: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            # Otherwise it is a fork of this process, and has its path.
            if getattr(self, "_parent_pid", None) != installing_pid:
                recorder.start_from(starts, _key(self))
            try:
                return bootstrap(self, *args, **kwargs)
            finally:
                ends.wakes(_key(self))

        return wrapper

    patches.wrap_own(module, "BaseProcess.start", make_signal(starts, _key))
    patches.wrap_own(module, "BaseProcess._bootstrap", make_bootstrap)
    patches.wrap_own(module, "BaseProcess.join", make_wait(ends, "Process.join", _key, success=_has_ended))


def _key(process: Any) -> tuple[int, ...]:
    """Return the same in the process and in its parent."""
    return (getattr(process, "_parent_pid", 0), *getattr(process, "_identity", ()))


def _has_ended(process: Any) -> Callable[[Any], bool]:
    return lambda _: getattr(getattr(process, "_popen", None), "returncode", None) is not None


def wrap_programs(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wrap the waits for a program's end and for its output; these have no wake edge."""
    ends = Channel(recorder, "program end", own=True)
    communicate_wait = Wait(ends, "Popen.communicate")

    def make_communicate(communicate: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, input: Any = None, timeout: float | None = None) -> Any:  # noqa: A002
            return communicate_wait.call(communicate, (self, input, timeout))

        return wrapper

    wait = make_wait(ends, "Popen.wait", lambda _: None, unless=lambda popen: popen.returncode is not None)
    patches.wrap_own(module, "Popen.wait", wait)
    patches.wrap_own(module, "Popen.communicate", make_communicate)
