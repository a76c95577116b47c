"""Waiting for results: `ray.get` and `ray.wait`, with the title of the awaited call, and what ended the wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ticktree.recorder import Channel, Wait
from ticktree.recorder._native import latest_of

if TYPE_CHECKING:
    from ticktree.instruments.patches import Patches
    from ticktree.recorder import Recorder

CHANNEL = "ray"
_MAX_ROWS = 64
# To tell which came last, at most so many are checked: a step may wait for thousands.
_MAX_REFS = 256
_MAX_TITLES = 16384
# The actor's id, at the end of a task's id; for a task without an actor all ones, and the job.
_ACTOR = slice(8, 24)

Key = bytes | str


class Titles:
    """The titles of the last calls made here, by the task ids of the references to their results."""

    def __init__(self) -> None:
        self._titles: dict[bytes, str] = {}

    def note(self, result: Any, title: str) -> None:
        """Store the title of a call.

        Args:
            result: What the call returned: a reference, a list of references, or nothing.
            title: The called task or method.
        """
        task = _task_id(result[0] if isinstance(result, list) and result else result)
        if task is None:
            return
        if len(self._titles) >= _MAX_TITLES:
            for oldest in list(self._titles)[: _MAX_TITLES // 2]:
                self._titles.pop(oldest, None)
        self._titles[task] = strip_scope(title)

    def find(self, refs: Iterable[Any]) -> tuple[str, set[Key]]:
        """Return the title of some references, and the keys of the signals that may tell that they came.

        The title is "" if it is unknown, or if there are several.
        """
        names: set[str] = set()
        keys: set[Key] = set()
        for ref in refs:
            task = _task_id(ref)
            if task is None:
                names.add("")
                continue
            title = self._titles.get(task, "")
            names.add(title)
            is_actors = any(byte != 0xFF for byte in task[8:20])
            if is_actors or title:
                keys.add(task[_ACTOR] if is_actors else title)
        return (names.pop() if len(names) == 1 else ""), keys


def strip_scope(name: str) -> str:
    """Return a function's name without the functions that contain its definition."""
    return name.rpartition("<locals>.")[2]


def _task_id(ref: Any) -> bytes | None:
    try:
        task: bytes = ref.task_id().binary()
    except Exception:  # it is no reference to a call's result
        return None
    return task


titles = Titles()


def wrap(patches: Patches, recorder: Recorder) -> None:
    """Wrap the functions that wait, for callers that use them as attributes of `ray`."""
    import ray
    from ray._private import worker

    waits = Waits(recorder)
    for module in (ray, worker):
        patches.wrap(module, "get", partial(_make_get, waits))
        patches.wrap(module, "wait", partial(_make_wait, waits))


class Waits:
    """The waits of a process."""

    def __init__(self, recorder: Recorder) -> None:
        self._channel = Channel(recorder, CHANNEL)
        self._waits: dict[str, Wait] = {}
        self.recorder = recorder

    def call(self, name: str, refs: Any, function: Callable[[], Any]) -> Any:
        """Call a function that waits for `refs`; its row is named by `name` and their title."""
        title, keys = titles.find(islice(refs, _MAX_REFS) if isinstance(refs, list) else [refs])
        wait = self._wait(f"{name} {title}" if title else name, name)
        return wait.call(function, (), partial(self._latest, keys))

    def _wait(self, name: str, fallback: str) -> Wait:
        wait = self._waits.get(name)
        if wait is None:
            if len(self._waits) >= _MAX_ROWS and name != fallback:
                return self._wait(fallback, fallback)
            wait = self._waits[name] = Wait(self._channel, name)
        return wait

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
