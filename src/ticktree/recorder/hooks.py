"""Carrying the open node to where work continues: started threads, executors' workers, new tasks.

Installed while anything records, and taken back when nothing does. Each wrapper does one thing and passes all
else through: arguments, results and exceptions are the program's own.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any
from weakref import ref

from ticktree.recorder import later, memory_sampling
from ticktree.recorder._native import Origin, Recorder, SubmittedCall, origins
from ticktree.recorder.imports import when_imported
from ticktree.recorder.wrapping import wrap

# Weak: a recorder without other references is freed, and with the last of them the hooks are.
_users: list[ref[Recorder]] = []
_undo: list[Callable[[], None]] = []


def install(recorder: Recorder) -> None:
    """Puts the hooks in place, unless they are; `recorder` needs them until `uninstall`."""
    if ref(recorder) in _users:
        return
    _users.append(ref(recorder, _remove))
    if _undo:
        return
    _wrap(threading.Thread, "start", _start)
    _watch("concurrent.futures.thread", lambda module: _wrap(module.ThreadPoolExecutor, "submit", _submit))
    _watch("asyncio.base_events", lambda module: _wrap(module.BaseEventLoop, "create_task", _create_task))
    _watch("uvloop", _wrap_uvloop)
    gc.callbacks.append(_gc_pause)
    _undo.append(lambda: gc.callbacks.remove(_gc_pause))
    _undo.append(memory_sampling.watch())


def uninstall(recorder: Recorder) -> None:
    """Takes the hooks back, if `recorder` was the last to need them."""
    if ref(recorder) in _users:
        _remove(ref(recorder))


def _remove(user: ref[Recorder]) -> None:
    _users.remove(user)
    if not _users:
        later.unwatch()
        while _undo:
            _undo.pop()()


def _watch(name: str, done: Callable[[ModuleType], None]) -> None:
    _undo.append(when_imported(name, done))


def _wrap(owner: Any, name: str, hook: Callable[..., Any]) -> None:
    _undo.append(wrap(owner, name, hook))


def _start(start: Callable[..., None], thread: Any, *args: Any, **kwargs: Any) -> None:
    with suppress(Exception):  # a subclass may do anything: its own `__setattr__` is not called
        object.__setattr__(thread, "_ticktree_origins", origins(path=True))
    start(thread, *args, **kwargs)


def _submit(submit: Callable[..., Any], executor: Any, /, *args: Any, **kwargs: Any) -> Any:
    given = origins(path=True)
    if args and given and works_here(executor):
        return submit(executor, SubmittedCall(args[0], given), *args[1:], **kwargs)
    return submit(executor, *args, **kwargs)


def works_here(executor: Any) -> bool:
    """Whether an executor's threads run what they are given, and do not send it to an own interpreter."""
    module = sys.modules.get("concurrent.futures.interpreter")
    return module is None or not isinstance(executor, module.InterpreterPoolExecutor)


def _create_task(create: Callable[..., Any], loop: Any, *args: Any, **kwargs: Any) -> Any:
    """The new task's context is copied from this one while the variable says where the task was made."""
    given = origins()
    context = kwargs.get("context")
    if context is not None:
        # It is running, and tasks that share a context cannot be distinguished; or it is no context.
        with suppress(Exception):
            context.run(_mark, given)
        return create(loop, *args, **kwargs)
    tokens = _mark(given)
    try:
        return create(loop, *args, **kwargs)
    finally:
        for origin, token in zip(given, tokens, strict=False):
            origin.recorder.origin_var.reset(token)


def _mark(given: list[Origin]) -> list[Any]:
    return [origin.recorder.origin_var.set(origin) for origin in given]


def _wrap_uvloop(module: ModuleType) -> None:
    _wrap(module.Loop, "create_task", _create_task)


def _gc_pause(phase: str, _info: dict[str, int]) -> None:
    for user in tuple(_users):
        recorder = user()
        if recorder is not None:
            recorder.gc_pause(phase == "start")
