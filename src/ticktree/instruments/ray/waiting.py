"""Waiting for results: `ray.get` and `ray.wait`, named after what they await, and what ended the wait."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ticktree.instruments.ray.titles import Key, titles
from ticktree.recorder import Channel, Wait
from ticktree.recorder._native import latest_of

if TYPE_CHECKING:
    from ticktree.instruments.patches import Patches
    from ticktree.recorder import Recorder

CHANNEL = "ray"
_MOST_NAMES = 64
# To tell which came last, at most so many are checked: a step may wait for thousands.
_MOST_REFS = 256


def wrap(patches: Patches, recorder: Recorder) -> None:
    """Wraps what waits, for callers of it as a function of `ray`."""
    import ray
    from ray._private import worker

    waits = Waits(recorder)
    for module in (ray, worker):
        patches.wrap(module, "get", partial(_make_get, waits))
        patches.wrap(module, "wait", partial(_make_wait, waits))


class Waits:
    """The rows of a process's waits.

    Args:
        recorder: Where they are recorded.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._channel = Channel(recorder, CHANNEL)
        self._rows: dict[str, Wait] = {}
        self.recorder = recorder

    def call(self, name: str, refs: Any, function: Callable[[], Any]) -> Any:
        """Calls what waits for `refs`; the row is called by `name` and what they are of."""
        given = islice(refs, _MOST_REFS) if isinstance(refs, list) else [refs]
        title, keys = titles.of(given)
        return self._row(f"{name} {title}" if title else name, name).call(
            function, (), partial(self._latest, keys)
        )

    def _row(self, name: str, plain: str) -> Wait:
        row = self._rows.get(name)
        if row is None:
            if len(self._rows) >= _MOST_NAMES and name != plain:
                return self._row(plain, plain)
            row = self._rows[name] = Wait(self._channel, name)
        return row

    def _latest(self, keys: set[Key], _result: Any) -> Any:
        return latest_of(self._channel, keys)


def _make_get(waits: Waits, get: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(object_refs: Any, *args: Any, **kwargs: Any) -> Any:
        if not waits.recorder.recording:
            return get(object_refs, *args, **kwargs)
        return waits.call("ray.get", object_refs, partial(get, object_refs, *args, **kwargs))

    return wrapper


def _make_wait(waits: Waits, wait: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(ray_waitables: Any, *args: Any, **kwargs: Any) -> Any:
        if not waits.recorder.recording or kwargs.get("timeout") == 0:
            return wait(ray_waitables, *args, **kwargs)
        return waits.call("ray.wait", ray_waitables, partial(wait, ray_waitables, *args, **kwargs))

    return wrapper
