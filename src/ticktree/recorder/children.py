"""Connecting child processes to this run: they become children of the node that is open now.

A forked child knows its parent. Any other child learns it from its environment, however it is started; the children of
a fork server, which another process forked, learn it from multiprocessing's preparation data. The wrappers are there
while the program's own recorder writes to a run; they leave all else in arguments, results and exceptions unchanged.

subprocess, asyncio, multiprocessing and loky all call one function, `_posixsubprocess.fork_exec`. It takes the final
environment, so a child gets exactly the one it would have, plus two entries.
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
from ticktree.recorder.pending_device_time import SYNC_VARIABLE
from ticktree.recorder.wrapping import wrap

RUN_VARIABLE = "TICKTREE_RUN"
PARENT_VARIABLE = "TICKTREE_PARENT"
INSTRUMENT_VARIABLE = "TICKTREE_INSTRUMENT"  # libraries to instrument: instruments/ reads it
MEMORY_VARIABLE = "TICKTREE_MEASURE_MEMORY"  # set: the memory of every section is sampled
TIMELINE_VARIABLE = "TICKTREE_TIMELINE"  # how many calls the timeline of a process keeps
GATHER_VARIABLE = "TICKTREE_GATHER_EVERY"  # set: ranks of a job report where its store is: session/ reads it
EXPERIMENTS_VARIABLE = "TICKTREE_EXPERIMENTS"  # set: sections are made faster and slower
TRACE_VARIABLE = "TICKTREE_TRACE"  # the trace that calls to other programs belong to: remote/ reads it
SAMPLE_VARIABLE = "TICKTREE_SAMPLE"  # how many times per second each process samples itself
# Functions whose calls are recorded: recorder/focus reads them.
FOCUS_VARIABLES = ("TICKTREE_FOCUS", "TICKTREE_FOCUS_DEPTH", "TICKTREE_FOCUS_C", "TICKTREE_FOCUS_WARMUP")
# The recording options of every process of a run.
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
_ORIGINAL = "_ticktree_original"  # on a wrapper: the wrapped function
_PREPARATION_KEY = "ticktree_parent"  # in multiprocessing's preparation data, which ignores unknown keys

# The index of `subprocess`'s `preexec_fn` in the arguments of `fork_exec`.
_PREEXEC = 21

# This process tracks shared memory for multiprocessing: nothing that a user would measure.
_HELPER_COMMAND = b"resource_tracker import main"


class _Current:
    """The recorder and the run of this process; nothing while `recorder` is None."""

    recorder: Recorder | None = None
    run: bytes = b""
    forks_watched = False


_undo: list[Callable[[], None]] = []


def connect_children(recorder: Recorder, run: str) -> None:
    """Makes processes started from now on record into `run`, as children of the node that is open then."""
    if _Current.recorder is not None:
        return
    _Current.recorder, _Current.run = recorder, os.fsencode(run)
    if not _Current.forks_watched and hasattr(os, "register_at_fork"):  # this cannot be undone
        _Current.forks_watched = True
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)
    for name, hook in _IN_OS.items():
        if hasattr(os, name):
            _wrap(os, name, hook)
    for module, wrap_in in _IN_MODULES.items():
        _undo.append(when_imported(module, wrap_in))


def disconnect_children() -> None:
    """Stops connecting child processes."""
    _Current.recorder = None
    while _undo:
        _undo.pop()()


def _wrap(owner: Any, name: str, hook: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    if hasattr(original, _ORIGINAL):
        return  # imported from another module, where it is wrapped
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


# -- the entries -----------------------------------------------------------------------------------------------


def _address() -> bytes | None:
    """Return the address of a child's parent node; None if it is unknown, or nothing is recorded."""
    try:
        address = _Current.recorder.address() if _Current.recorder is not None else None
    except Exception:  # whatever it is, the program's child must start
        return None
    return os.fsencode(address) if address else None


def _child_entries(entries: Sequence[bytes], address: bytes) -> list[bytes] | None:
    """Return a child's environment with its parent's address; None if it belongs to another run already."""
    runs = [entry[len(_RUN) :] for entry in entries if entry.startswith(_RUN)]
    if any(run != _Current.run for run in runs):
        return None
    child = [entry for entry in entries if not entry.startswith(_PARENT)]
    run_entries = [] if runs else [_RUN + _Current.run, *_options(entries)]
    return [*child, *run_entries, _PARENT + address]


def recording_options() -> dict[str, str]:
    """Return the recording options of this process, as environment variables."""
    return {name: value for name in _OPTIONS if (value := os.environ.get(name))}


def _options(entries: Sequence[bytes]) -> list[bytes]:
    """Return the options of this process that a child's own environment lacks."""
    names = {entry.partition(b"=")[0] for entry in entries if b"=" in entry}
    options = {os.fsencode(name): os.fsencode(value) for name, value in recording_options().items()}
    return [name + b"=" + value for name, value in options.items() if name not in names]


def _child_mapping(mapping: Any, address: bytes) -> Any:
    """The same for an environment given as a mapping; an invalid one stays unchanged."""
    try:
        child = {key: mapping[key] for key in mapping}
        keys = {os.fsencode(key): key for key in child}
        run = os.fsencode(RUN_VARIABLE)
        entries = [name + b"=" + (os.fsencode(child[keys[run]]) if name == run else b"") for name in keys]
    except Exception:  # the program's mistake, which the system call will report
        return mapping
    changed = _child_entries(entries, address)
    if changed is None:
        return mapping
    for name, value in (entry.split(b"=", 1) for entry in changed if entry not in entries):
        child[keys.get(name, name)] = value
    return child


def _as_mapping(entries: Sequence[bytes] | None) -> dict[bytes, bytes] | None:
    """Return the environment as a mapping; None if it has entries that a mapping cannot have."""
    mapping = dict(entry.split(b"=", 1) for entry in entries or () if b"=" in entry[1:])
    return mapping if entries is not None and len(mapping) == len(entries) else None


# -- programs ---------------------------------------------------------------------------------------------------


def _fork_exec(fork_exec: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Adds the entries to the environment, the sixth argument: a list, or None for the current environment."""
    if len(args) > 5 and (args[5] is None or isinstance(args[5], (list, tuple))):
        address = _address()
        if address is not None:
            entries = environment() if args[5] is None else args[5]
            child = _without_run(entries) if _is_helper(args[0]) else _child_entries(entries, address)
            preexec = args[_PREEXEC] if args[5] is None and len(args) > _PREEXEC else None
            if child is not None and preexec is not None:  # which may change the environment
                preexec = partial(_prepare_and_export, preexec, address)
                args = (*args[:_PREEXEC], preexec, *args[_PREEXEC + 1 :])
            elif child is not None:
                args = (*args[:5], child, *args[6:])
    return fork_exec(*args, **kwargs)


def _prepare_and_export(prepare: Callable[[], Any], address: bytes) -> None:
    """In the child, before it runs its program: calls the caller's function, and then adds the entries."""
    prepare()
    with suppress(Exception):  # whatever it is, the program's child must start
        entries = environment()
        for entry in set(_child_entries(entries, address) or ()).difference(entries):
            os.putenv(*entry.split(b"=", 1))


def _is_helper(command: Any) -> bool:
    texts = (
        [word for word in command if isinstance(word, (str, bytes))]
        if isinstance(command, (list, tuple))
        else []
    )
    return any(_HELPER_COMMAND in os.fsencode(text) for text in texts)


def _without_run(entries: Sequence[bytes]) -> list[bytes]:
    return [entry for entry in entries if not entry.startswith((_RUN, _PARENT))]


def _execv(execv: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Passes the environment, which the new program would inherit, explicitly with the added entries."""
    address = _address()
    child = _child_entries(environment(), address) if address is not None else None
    mapping = _as_mapping(child)
    # Arguments that execve would accept, or refuse, differently go to execv unchanged.
    is_usual = len(args) == 2 and not isinstance(args[0], int) and isinstance(args[1], (list, tuple))
    if mapping is None or not is_usual or not any(args[1][:1]):
        return _execute(execv, *args, **kwargs)
    execve = getattr(os.execve, _ORIGINAL, os.execve)
    with suppress(OSError):
        return _execute(execve, *args, mapping)
    return execv(*args)  # which fails too, with its own error


def _execve(execve: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    address = _address()
    if address is not None and len(args) == 3:
        args = (*args[:2], _child_mapping(args[2], address))
    elif address is not None and "env" in kwargs:
        kwargs["env"] = _child_mapping(kwargs["env"], address)
    return _execute(execve, *args, **kwargs)


def _execute(execute: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if _Current.recorder is not None:
        _Current.recorder.note_time()  # the open sections end here
    return execute(*args, **kwargs)


def _posix_spawn(spawn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    address = _address()
    if address is not None and len(args) == 3:
        if isinstance(args[2], Mapping):
            args = (*args[:2], _child_mapping(args[2], address))
        elif args[2] is None and sys.version_info >= (3, 13):  # there it means the current environment
            mapping = _as_mapping(_child_entries(environment(), address))
            args = (*args[:2], mapping)
    return spawn(*args, **kwargs)


_IN_OS = {"execv": _execv, "execve": _execve, "posix_spawn": _posix_spawn, "posix_spawnp": _posix_spawn}


# -- multiprocessing and forks ----------------------------------------------------------------------------------


def _get_preparation_data(get: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    data = get(*args, **kwargs)
    address = _address()
    if address is not None and isinstance(data, dict):
        data[_PREPARATION_KEY] = os.fsdecode(address)
    return data


def _prepare(prepare: Callable[..., Any], data: Any, *args: Any, **kwargs: Any) -> Any:
    """In the child, before the program's own code: sets the parent, which is not the fork server."""
    address = data.pop(_PREPARATION_KEY, None) if isinstance(data, dict) else None
    if _Current.recorder is not None and isinstance(address, str):
        with suppress(ValueError):  # another version's format
            _Current.recorder.child_of(address)
    return prepare(data, *args, **kwargs)


def _bootstrap(bootstrap: Callable[..., Any], process: Any, *args: Any, **kwargs: Any) -> Any:
    """In the child, however it was started: names it, as its function is now known."""
    if _Current.recorder is not None:
        with suppress(Exception):  # a subclass's attributes may do anything
            _Current.recorder.name_process(process_name(process))
    return bootstrap(process, *args, **kwargs)


def _before_fork() -> None:
    if _Current.recorder is not None:
        note_fork()


def _after_fork() -> None:
    if _Current.recorder is not None:
        forget_fork()


# Names of multiprocessing's processes.
#
# Its default names ("SpawnProcess-1:2") tell how a process was started; the process's function tells why. The number
# stays.

# Process-3, ForkProcess-3, SpawnProcess-1:2, ForkServerProcess-1, LokyProcess-4, ForkPoolWorker-3, ...
_DEFAULT = r"(?:Fork|Spawn|ForkServer|Loky|LokyInitMain)?(?:Process|PoolWorker)-(\d+(?::\d+)*)"

# Functions of libraries that run the program's functions.
_WORKER_NAMES = {
    "multiprocessing.pool.worker": "pool worker",
    "concurrent.futures.process._process_worker": "executor worker",
    "loky.process_executor._process_worker": "loky worker",
    "torch.utils.data._utils.worker._worker_loop": "data loader worker",
}
_WRAPPERS = {"torch.multiprocessing.spawn._wrap"}  # the function itself is their first argument


def process_name(process: Any) -> str:
    """Return the name of a process, with its function's name instead of multiprocessing's default."""
    name = str(process.name)
    match = re.fullmatch(_DEFAULT, name)
    target = getattr(process, "_target", None)
    if match is None or target is None:
        return name
    if _full_name(target) in _WRAPPERS and process._args:
        target = process._args[0]
    function_name = _function_name(target)
    return f"{function_name}-{match[1]}" if function_name else name


def _function_name(target: Any) -> str:
    """Return a short name of a function; empty for a lambda."""
    full_name = _full_name(target)
    for library_function, name in _WORKER_NAMES.items():
        if full_name == library_function or full_name.endswith(f".{library_function}"):
            return name
    qualname = str(getattr(_unwrap_partials(target), "__qualname__", "") or type(target).__name__)
    return qualname.rsplit("<locals>.", 1)[-1].replace("<lambda>", "")


def _full_name(target: Any) -> str:
    function = _unwrap_partials(target)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"


def _unwrap_partials(target: Any) -> Any:
    while isinstance(target, functools.partial):
        target = target.func
    return target
