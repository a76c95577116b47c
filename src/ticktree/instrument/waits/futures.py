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
            if self.done():
                return result(self, timeout)
            # What it raises may be the work's own exception: waited for, and come.
            outcome = getting.call(_outcome, (self, result, timeout), id(self), lambda _: self.done())
            if outcome[1] is not None:
                try:
                    raise outcome[1]
                finally:
                    del outcome, self  # or the exception would keep itself alive
            return outcome[0]

        return wrapper

    def make_set(set_: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, value: Any) -> Any:
            futures.signal(id(self))
            return set_(self, value)

        return wrapper

    patches.wrap(module.Future, "result", make_result)
    patches.wrap(module.Future, "exception", make_result)
    patches.wrap(module.Future, "set_result", make_set)
    patches.wrap(module.Future, "set_exception", make_set)


def _outcome(
    future: Any, result: Callable[..., Any], timeout: float | None
) -> tuple[Any, BaseException | None]:
    try:
        return result(future, timeout), None
    except BaseException as error:
        return None, error
