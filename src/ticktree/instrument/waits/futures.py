"""Futures of `concurrent.futures`: waiting for what others work out."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.recorder import Channel, Wait

if TYPE_CHECKING:
    from ticktree.recorder import Recorder


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps futures: a result that is there already is no wait."""
    futures = Channel(recorder, "future", own=True)
    getting = Wait(futures, "Future.result")

    def make_result(result: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = None) -> Any:
            try:
                if self.done():
                    return result(self, timeout)
                # What it raises may be the work's own exception: waited for, and come.
                return getting.call(result, (self, timeout), id(self), _came(self), raising=True)
            finally:
                del self  # or the exception, which its future has, would keep itself alive

        return wrapper

    def make_set(set_: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, value: Any) -> Any:
            futures.wakes(id(self))
            return set_(self, value)

        return wrapper

    patches.wrap_own(module, "Future.result", make_result)
    patches.wrap_own(module, "Future.exception", make_result)
    patches.wrap_own(module, "Future.set_result", make_set)
    patches.wrap_own(module, "Future.set_exception", make_set)


def _came(future: Any) -> Callable[[Any], bool]:
    return lambda _: future.done()
