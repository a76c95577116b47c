"""Calls of tasks and actors: each carries the names of the sections that are open where it is made."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ticktree.instruments.ray.waiting import titles
from ticktree.recorder import Channel
from ticktree.recorder._native import names_of

if TYPE_CHECKING:
    from ticktree.instruments.patches import Patches
    from ticktree.recorder import Recorder
    from ticktree.recorder._native import Place

# The keyword argument that calls carry to their worker: no program has one of this name.
KEY = "__ticktree_from__"
# Wake edges of calls: their work continues from where they are made.
CALLS = "ray call"
_MAX_PATHS = 4096


class _Job:
    """Whether the job's workers remove the argument that its calls carry: only those with our hook do."""

    carries_paths = False


class _NoParameters(list[Any]):
    """An empty signature that is true: with a false one Ray does not call the function that packs arguments."""

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> Any:
        return list, ()


class _CurrentCall(threading.local):
    """The call that this thread is making."""

    path: bytes | None = None


_current = _CurrentCall()
_paths: dict[Place, bytes] = {}


def carry(carries: bool) -> None:
    """Make calls carry the path where they are made, or no longer."""
    _Job.carries_paths = carries


def wrap(patches: Patches, recorder: Recorder) -> None:
    """Wrap the functions that make calls and pack their arguments."""
    from ray import actor, remote_function
    from ray._common import signature

    make_carry = partial(_make_carry, Channel(recorder, CALLS))
    patches.wrap(signature, "extract_signature", _make_extract)
    patches.wrap(signature, "flatten_args", _make_flatten)
    patches.wrap(remote_function.RemoteFunction, "_remote", partial(make_carry, _task_title))
    patches.wrap(actor.ActorClass, "_remote", partial(make_carry, None))
    patches.wrap(actor.ActorHandle, "_actor_method_call", partial(make_carry, _method_title))


def _make_extract(extract: Callable[..., Any]) -> Callable[..., Any]:
    def extract_signature(*args: Any, **kwargs: Any) -> Any:
        return extract(*args, **kwargs) or _NoParameters()

    return extract_signature


def _make_flatten(flatten: Callable[..., Any]) -> Callable[..., Any]:
    def flatten_args(*args: Any, **kwargs: Any) -> Any:
        path, _current.path = _current.path, None
        packed = flatten(*args, **kwargs)
        return packed if path is None else [*packed, KEY, path]

    return flatten_args


def _make_carry(
    calls: Channel, title: Callable[[Any, tuple[Any, ...], Any], str] | None, call: Callable[..., Any]
) -> Callable[..., Any]:
    recorder = calls.recorder

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (_Job.carries_paths and recorder.recording):
            return call(self, *args, **kwargs)
        path = _open_path(recorder)
        before, _current.path = _current.path, path
        try:
            calls.wakes(path)
            _require_packing(self, args)
            result = call(self, *args, **kwargs)
        finally:
            _current.path = before
        if title is not None:
            titles.note(result, title(self, args, kwargs))
        return result

    return wrapper


def _require_packing(target: Any, args: tuple[Any, ...]) -> None:
    """Make Ray pack the arguments of a function without parameters too: handles from elsewhere need it."""
    if getattr(target, "_function_signature", None) == []:
        target._function_signature = _NoParameters()
    elif args and target.__dict__.get("_ray_method_signatures", {}).get(args[0]) == []:
        target._ray_method_signatures[args[0]] = _NoParameters()


def _open_path(recorder: Recorder) -> bytes | None:
    """Return the names of the open sections, encoded for a call; None if nothing is recorded."""
    place = recorder.place()
    path = _paths.get(place)
    if path is None:
        names = names_of(place)
        if names is None:
            return None
        if len(_paths) >= _MAX_PATHS:
            _paths.clear()
        path = _paths[place] = json.dumps(names).encode()
    return path


def decode_path(path: Any) -> tuple[str, ...]:
    """Return the names that a call carried; none if the argument is not ours."""
    try:
        return tuple(map(str, json.loads(path)))
    except (TypeError, ValueError):
        return ()


def _task_title(function: Any, _args: tuple[Any, ...], options: Any) -> str:
    return str(options.get("name") or getattr(function._function, "__qualname__", function._function_name))


def _method_title(handle: Any, args: tuple[Any, ...], options: Any) -> str:
    kind = handle._ray_actor_creation_function_descriptor.class_name
    return str(options.get("name") or f"{kind}.{args[0] if args else options.get('method_name')}")
