"""Telling the processes started here where they belong: into this run, under the node that is open now.

A forked child knows its parent. Any other child learns it from its environment, however it is started, and
through multiprocessing's own preparation data to the children of a fork server, which another process forked.
Installed while the program's own recorder writes to a run. Each wrapper adds its variables and passes all
else through: arguments, results and exceptions are the program's own.

subprocess, asyncio, multiprocessing and loky all end in one function, `_posixsubprocess.fork_exec`. It takes the
environment as it will be, so that a child gets exactly the one it would have got, and our two entries.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

from ticktree.recorder._native import Recorder, environment, forget_fork, note_fork
from ticktree.recorder.imports import when_imported
from ticktree.recorder.later import SYNC_VARIABLE
from ticktree.recorder.wrapping import wrap

RUN_VARIABLE = "TICKTREE_RUN"
PARENT_VARIABLE = "TICKTREE_PARENT"
INSTRUMENT_VARIABLE = "TICKTREE_INSTRUMENT"  # libraries to instrument: instruments/ reads it
MEMORY_VARIABLE = "TICKTREE_MEASURE_MEMORY"  # set: memory is sampled of every section
TIMELINE_VARIABLE = "TICKTREE_TIMELINE"  # of how many calls the timeline of a process keeps start and end
GATHER_VARIABLE = "TICKTREE_GATHER_EVERY"  # set: ranks of a job say where its store is: session/ reads it
EXPERIMENTS_VARIABLE = "TICKTREE_EXPERIMENTS"  # set: sections are made faster and slower
TRACE_VARIABLE = "TICKTREE_TRACE"  # the trace that calls to other programs belong to: remote/ reads it
SAMPLE_VARIABLE = "TICKTREE_SAMPLE"  # how many times per second each process samples itself
# Functions whose calls are recorded: recorder/focus reads them.
FOCUS_VARIABLES = ("TICKTREE_FOCUS", "TICKTREE_FOCUS_DEPTH", "TICKTREE_FOCUS_C", "TICKTREE_FOCUS_WARMUP")
# What is recorded, and how, in every process of a run.
_OPTIONS = (
    INSTRUMENT_VARIABLE,
    MEMORY_VARIABLE,
    SYNC_VARIABLE,
    TIMELINE_VARIABLE,
    GATHER_VARIABLE,
    EXPERIMENTS_VARIABLE,
    TRACE_VARIABLE,
    SAMPLE_VARIABLE,
    *FOCUS_VARIABLES,
)
_RUN = os.fsencode(f"{RUN_VARIABLE}=")
_PARENT = os.fsencode(f"{PARENT_VARIABLE}=")
_ORIGINAL = "_ticktree_original"  # on a wrapper: what it is around
_PREPARED = "ticktree_parent"  # in multiprocessing's preparation data, which ignore what they do not know

# Where `fork_exec` takes what `subprocess` calls `preexec_fn`.
_PREPARE = 21

# It keeps track of shared memory for multiprocessing, and of nothing that anybody would measure.
_HELPER = b"resource_tracker import main"


class _Here:
    """What this process records with, and into which run; nothing while `recorder` is None."""

    recorder: Recorder | None = None
    run: bytes = b""
    forks_watched = False


_undo: list[Callable[[], None]] = []


def lead_children(recorder: Recorder, run: str) -> None:
    """From now on processes started here record into `run`, as children of the node that is open then."""
    if _Here.recorder is not None:
        return
    _Here.recorder, _Here.run = recorder, os.fsencode(run)
    if not _Here.forks_watched and hasattr(os, "register_at_fork"):  # it cannot be taken back
        _Here.forks_watched = True
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)
    for name, hook in (
        ("execv", _execv),
        ("execve", _execve),
        ("posix_spawn", _posix_spawn),
        ("posix_spawnp", _posix_spawn),
    ):
        if hasattr(os, name):
            _wrap(os, name, hook)
    for module, wrap_in in _IN_MODULES.items():
        _undo.append(when_imported(module, wrap_in))


def leave_children() -> None:
    """Processes started from now on are none of ours."""
    _Here.recorder = None
    while _undo:
        _undo.pop()()


def _wrap(owner: Any, name: str, hook: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    if hasattr(original, _ORIGINAL):
        return  # taken from another module, where it is wrapped
    _undo.append(wrap(owner, name, hook))
    wrapper = getattr(owner, name)
    setattr(wrapper, _ORIGINAL, original)
    if owner is os and original in os.supports_fd:
        os.supports_fd.add(wrapper)
        _undo.append(lambda: os.supports_fd.discard(wrapper))


def _wrap_spawn(module: ModuleType) -> None:
    _wrap(module, "get_preparation_data", _get_preparation_data)
    _wrap(module, "prepare", _prepare)


_IN_MODULES: dict[str, Callable[[ModuleType], None]] = {
    "_posixsubprocess": lambda module: _wrap(module, "fork_exec", _fork_exec),
    "subprocess": lambda module: _wrap(module, "_fork_exec", _fork_exec),
    "multiprocessing.process": lambda module: _wrap(module.BaseProcess, "_bootstrap", _bootstrap),
    "multiprocessing.spawn": _wrap_spawn,
}


# -- what is added ---------------------------------------------------------------------------------------------


def _place() -> bytes | None:
    """The parent node of a child started here; None where it is not known, or not ours."""
    try:
        place = _Here.recorder.address() if _Here.recorder is not None else None
    except Exception:  # whatever it is, the program's child is to be started
        return None
    return os.fsencode(place) if place else None


def _led(entries: Sequence[bytes], place: bytes) -> list[bytes] | None:
    """An environment that leads a child to its place; None where it leads into another run already."""
    runs = [entry[len(_RUN) :] for entry in entries if entry.startswith(_RUN)]
    if any(run != _Here.run for run in runs):
        return None
    led = [entry for entry in entries if not entry.startswith(_PARENT)]
    added = [] if runs else [_RUN + _Here.run, *_options(entries)]
    return [*led, *added, _PARENT + place]


def recording_options() -> dict[str, str]:
    """What is recorded here, and how, as environment variables."""
    return {name: value for name in _OPTIONS if (value := os.environ.get(name))}


def _options(entries: Sequence[bytes]) -> list[bytes]:
    """The options of this process that a child's own environment lacks."""
    found = []
    for variable, value in recording_options().items():
        name = os.fsencode(f"{variable}=")
        if not any(entry.startswith(name) for entry in entries):
            found.append(name + os.fsencode(value))
    return found


def _led_mapping(mapping: Any, place: bytes) -> Any:
    """The same for an environment given as a mapping; as it is where it is no proper one."""
    try:
        added = {key: mapping[key] for key in mapping}
        known = {os.fsencode(key): key for key in added}
        run = os.fsencode(RUN_VARIABLE)
        entries = [name + b"=" + (os.fsencode(added[known[run]]) if name == run else b"") for name in known]
    except Exception:  # it is the program's mistake, and the system's to point out
        return mapping
    led = _led(entries, place)
    if led is None:
        return mapping
    for name, value in (entry.split(b"=", 1) for entry in led if entry not in entries):
        added[known.get(name, name)] = value
    return added


def _as_mapping(entries: Sequence[bytes] | None) -> dict[bytes, bytes] | None:
    """The same environment as a mapping; None where it has entries that a mapping cannot have."""
    mapping = dict(entry.split(b"=", 1) for entry in entries or () if b"=" in entry[1:])
    return mapping if entries is not None and len(mapping) == len(entries) else None


# -- programs ---------------------------------------------------------------------------------------------------


def _fork_exec(fork_exec: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The environment is the sixth argument: a list of entries, or None for the one there is."""
    if len(args) > 5 and (args[5] is None or isinstance(args[5], (list, tuple))):
        place = _place()
        if place is not None:
            entries = environment() if args[5] is None else args[5]
            led = _alone(entries) if _is_helper(args[0]) else _led(entries, place)
            prepare = args[_PREPARE] if args[5] is None and len(args) > _PREPARE else None
            if led is not None and prepare is not None:  # which may change the environment
                args = (*args[:_PREPARE], partial(_prepared, prepare, place), *args[_PREPARE + 1 :])
            elif led is not None:
                args = (*args[:5], led, *args[6:])
    return fork_exec(*args, **kwargs)


def _prepared(prepare: Callable[[], Any], place: bytes) -> None:
    """In the child, before it becomes its program: what the caller has it do there, and then our entries."""
    prepare()
    with suppress(Exception):  # whatever it is, the program's child is to be started
        entries = environment()
        for entry in set(_led(entries, place) or ()).difference(entries):
            os.putenv(*entry.split(b"=", 1))


def _is_helper(command: Any) -> bool:
    return isinstance(command, (list, tuple)) and any(
        isinstance(word, (str, bytes)) and _HELPER in os.fsencode(word) for word in command
    )


def _alone(entries: Sequence[bytes]) -> list[bytes]:
    return [entry for entry in entries if not entry.startswith((_RUN, _PARENT))]


def _execv(execv: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The program that replaces this one inherits this one's environment: it is handed over with ours added to it."""
    place = _place()
    led = _led(environment(), place) if place is not None else None
    mapping = _as_mapping(led)
    # What execve would take otherwise, or refuse in other words, goes the way it came.
    usual = (
        len(args) == 2
        and not isinstance(args[0], int)
        and isinstance(args[1], (list, tuple))
        and all(args[1][:1])
    )
    if mapping is None or not usual or not args[1]:
        return _last_words(execv, *args, **kwargs)
    execve = getattr(os.execve, _ORIGINAL, os.execve)
    with suppress(OSError):
        return _last_words(execve, *args, mapping)
    return execv(*args)  # which cannot either, and says so in its own words


def _execve(execve: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    place = _place()
    if place is not None and len(args) == 3:
        args = (*args[:2], _led_mapping(args[2], place))
    elif place is not None and "env" in kwargs:
        kwargs["env"] = _led_mapping(kwargs["env"], place)
    return _last_words(execve, *args, **kwargs)


def _last_words(execute: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if _Here.recorder is not None:
        _Here.recorder.note_time()  # what is open was open until now
    return execute(*args, **kwargs)


def _posix_spawn(spawn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    place = _place()
    if place is not None and len(args) == 3:
        if isinstance(args[2], Mapping):
            args = (*args[:2], _led_mapping(args[2], place))
        elif args[2] is None and sys.version_info >= (3, 13):  # there it means the environment there is
            mapping = _as_mapping(_led(environment(), place))
            args = (*args[:2], mapping)
    return spawn(*args, **kwargs)


# -- multiprocessing and forks ----------------------------------------------------------------------------------


def _get_preparation_data(get: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    data = get(*args, **kwargs)
    place = _place()
    if place is not None and isinstance(data, dict):
        data[_PREPARED] = os.fsdecode(place)
    return data


def _prepare(prepare: Callable[..., Any], data: Any, *args: Any, **kwargs: Any) -> Any:
    """In the child, before any of the program's own code: a fork server's child is not the server's."""
    place = data.pop(_PREPARED, None) if isinstance(data, dict) else None
    if _Here.recorder is not None and isinstance(place, str):
        with suppress(ValueError):  # another version's word
            _Here.recorder.child_of(place)
    return prepare(data, *args, **kwargs)


def _bootstrap(bootstrap: Callable[..., Any], process: Any, *args: Any, **kwargs: Any) -> Any:
    """In the child, however it was started: now it is known what it is for."""
    if _Here.recorder is not None:
        with suppress(Exception):  # whatever a subclass makes of its attributes
            _Here.recorder.name_process(name_of(process))
    return bootstrap(process, *args, **kwargs)


def _before_fork() -> None:
    if _Here.recorder is not None:
        note_fork()


def _after_fork() -> None:
    if _Here.recorder is not None:
        forget_fork()


# What a process of multiprocessing's is called.
#
# The names that it gives by default ("SpawnProcess-1:2") tell how a process was started. Its function tells
# what it was started for; the number is kept.

# Process-3, ForkProcess-3, SpawnProcess-1:2, ForkServerProcess-1, LokyProcess-4, ForkPoolWorker-3, ...
_DEFAULT = r"(?:Fork|Spawn|ForkServer|Loky|LokyInitMain)?(?:Process|PoolWorker)-(\d+(?::\d+)*)"

# Functions of libraries, which call what they were given by the program.
_KNOWN = {
    "multiprocessing.pool.worker": "pool worker",
    "concurrent.futures.process._process_worker": "executor worker",
    "loky.process_executor._process_worker": "loky worker",
    "torch.utils.data._utils.worker._worker_loop": "data loader worker",
}
_CALLERS = {"torch.multiprocessing.spawn._wrap"}  # the function itself is their first argument


def name_of(process: Any) -> str:
    """The name of a process, with its function's in place of multiprocessing's default."""
    name = str(process.name)
    match = re.fullmatch(_DEFAULT, name)
    target = getattr(process, "_target", None)
    if match is None or target is None:
        return name
    if _full_name(target) in _CALLERS and process._args:
        target = process._args[0]
    what = _what(target)
    return f"{what}-{match[1]}" if what else name


def _what(target: Any) -> str:
    """What a function is called; empty where that says nothing."""
    full = _full_name(target)
    for known, what in _KNOWN.items():
        if full == known or full.endswith(f".{known}"):
            return what
    qualname = str(getattr(_bare(target), "__qualname__", "") or type(target).__name__)
    return qualname.rsplit("<locals>.", 1)[-1].replace("<lambda>", "")


def _full_name(target: Any) -> str:
    bare = _bare(target)
    return f"{getattr(bare, '__module__', '')}.{getattr(bare, '__qualname__', '')}"


def _bare(target: Any) -> Any:
    while isinstance(target, functools.partial):
        target = target.func
    return target
