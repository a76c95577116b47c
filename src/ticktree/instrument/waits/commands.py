"""Other programs that are started and waited for: `subprocess`."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.recorder import Channel, Wait

if TYPE_CHECKING:
    from ticktree.recorder import Recorder


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps waiting for a program's end and for what it writes; who ends these waits is not told."""
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
