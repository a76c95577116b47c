"""Processes of multiprocessing: a child continues its starter's path, and its end wakes `join`.

And other programs that are started and waited for: `subprocess`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.recorder import Channel, Recorder, Wait


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps `multiprocessing.Process`: in the parent that starts one, and in the child."""
    starts, ends = Channel(recorder, "process start"), Channel(recorder, "process end")
    joining = Wait(ends, "Process.join")
    installed_in = os.getpid()

    def make_start(start: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            starts.wakes(_key(self))
            return start(self)

        return wrapper

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

    def make_join(join: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = None) -> Any:
            return joining.call(join, (self, timeout), _key(self), lambda _: _has_ended(self))

        return wrapper

    patches.wrap_own(module, "BaseProcess.start", make_start)
    patches.wrap_own(module, "BaseProcess._bootstrap", make_bootstrap)
    patches.wrap_own(module, "BaseProcess.join", make_join)


def _key(process: Any) -> tuple[int, ...]:
    """The same in the process and in its parent."""
    return (getattr(process, "_parent_pid", 0), *getattr(process, "_identity", ()))


def _has_ended(process: Any) -> bool:
    return getattr(getattr(process, "_popen", None), "returncode", None) is not None


def wrap_programs(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps waiting for a program's end and for its output; these waits have no wake edge."""
    ends = Channel(recorder, "program end", own=True)
    waiting, talking = Wait(ends, "Popen.wait"), Wait(ends, "Popen.communicate")

    def make_wait(wait: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = None) -> Any:
            if self.returncode is not None:
                return wait(self, timeout)
            return waiting.call(wait, (self, timeout))

        return wrapper

    def make_communicate(communicate: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, input: Any = None, timeout: float | None = None) -> Any:  # noqa: A002
            return talking.call(communicate, (self, input, timeout))

        return wrapper

    patches.wrap_own(module, "Popen.wait", make_wait)
    patches.wrap_own(module, "Popen.communicate", make_communicate)
