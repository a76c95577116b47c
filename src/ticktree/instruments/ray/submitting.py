"""Calls of tasks and actors: each carries the names of the sections that it was made in."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ticktree.instruments.ray.titles import titles
from ticktree.recorder import Channel
from ticktree.recorder._native import names_of

if TYPE_CHECKING:
    from ticktree.instruments.patches import Patches
    from ticktree.recorder import Recorder
    from ticktree.recorder._native import Place

# Among a call's keyword arguments, on the way: no program has one of this name.
KEY = "__ticktree_from__"
# Wake edges of calls that are made: the work for them continues from there.
CALLS = "ray call"
_MOST_PLACES = 4096


class _Job:
    """Whether the job's workers take out what its calls carry: only those do that run our hook."""

    carries = False


class _Nothing(list[Any]):
    """No parameters; yet true: Ray passes by what it asks to pack arguments where a function takes none."""

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> Any:
        return list, ()


class _Local(threading.local):
    """What the call that is being made carries."""

    word: bytes | None = None


_local = _Local()
_words: dict[Place, bytes] = {}


def carry(carries: bool) -> None:
    """From now on calls carry where they were made, or do so no longer."""
    _Job.carries = carries


def wrap(patches: Patches, recorder: Recorder) -> None:
    """Wraps what makes calls, and what packs their arguments."""
    from ray import actor, remote_function
    from ray._common import signature

    calls = Channel(recorder, CALLS)
    patches.wrap(signature, "extract_signature", _make_extract)
    patches.wrap(signature, "flatten_args", _make_flatten)
    patches.wrap(remote_function.RemoteFunction, "_remote", lambda remote: _carrying(calls, remote, _of_task))
    patches.wrap(actor.ActorClass, "_remote", lambda remote: _carrying(calls, remote, None))
    patches.wrap(actor.ActorHandle, "_actor_method_call", lambda call: _carrying(calls, call, _of_method))


def _make_extract(extract: Callable[..., Any]) -> Callable[..., Any]:
    def extract_signature(*args: Any, **kwargs: Any) -> Any:
        return extract(*args, **kwargs) or _Nothing()

    return extract_signature


def _make_flatten(flatten: Callable[..., Any]) -> Callable[..., Any]:
    def flatten_args(*args: Any, **kwargs: Any) -> Any:
        word, _local.word = _local.word, None
        packed = flatten(*args, **kwargs)
        return packed if word is None else [*packed, KEY, word]

    return flatten_args


def _carrying(
    calls: Channel, call: Callable[..., Any], title: Callable[[Any, tuple[Any, ...], Any], str] | None
) -> Callable[..., Any]:
    recorder = calls.recorder

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (_Job.carries and recorder.recording):
            return call(self, *args, **kwargs)
        word = _word_here(recorder)
        before, _local.word = _local.word, word
        try:
            calls.wakes(word)
            _take_no_short_cut(self, args)
            made = call(self, *args, **kwargs)
        finally:
            _local.word = before
        if title is not None:
            titles.note(made, title(self, args, kwargs))
        return made

    return wrapper


def _take_no_short_cut(called: Any, args: tuple[Any, ...]) -> None:
    """Sees that what a call carries is packed, though it has no arguments: where handles came from elsewhere."""
    if getattr(called, "_function_signature", None) == []:
        called._function_signature = _Nothing()
    elif args and called.__dict__.get("_ray_method_signatures", {}).get(args[0]) == []:
        called._ray_method_signatures[args[0]] = _Nothing()


def _word_here(recorder: Recorder) -> bytes | None:
    """The names of the sections that are open, as a call carries them; None where nothing is recorded."""
    place = recorder.place()
    word = _words.get(place)
    if word is None:
        names = names_of(place)
        if names is None:
            return None
        if len(_words) >= _MOST_PLACES:
            _words.clear()
        word = _words[place] = json.dumps(names).encode()
    return word


def names_in(word: Any) -> tuple[str, ...]:
    """The names that a call carried; none where it carried nothing that was ours."""
    try:
        return tuple(map(str, json.loads(word)))
    except (TypeError, ValueError):
        return ()


def _of_task(function: Any, _args: tuple[Any, ...], options: Any) -> str:
    return str(options.get("name") or getattr(function._function, "__qualname__", function._function_name))


def _of_method(handle: Any, args: tuple[Any, ...], options: Any) -> str:
    kind = handle._ray_actor_creation_function_descriptor.class_name
    return str(options.get("name") or f"{kind}.{args[0] if args else options.get('method_name')}")
