"""Carrying the open node to where work continues: started threads, executors' workers, new tasks.

The hooks are installed while any recorder needs them. Each wrapper does one thing and leaves arguments, results and
exceptions unchanged.
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

from ticktree.recorder import memory_sampling, pending_device_time
from ticktree.recorder._native import Origin, Recorder, SubmittedCall, origins
from ticktree.recorder.imports import when_imported
from ticktree.recorder.wrapping import wrap

# Weak: a recorder without other references is freed, and the last one's end removes the hooks.
_users: list[ref[Recorder]] = []
_undo: list[Callable[[], None]] = []


def install(recorder: Recorder) -> None:
    """Installs the hooks, unless they are; `recorder` needs them until `uninstall`."""
    if ref(recorder) in _users:
        return
    _users.append(ref(recorder, _remove))
    if _undo:
        return
    _wrap(threading.Thread, "start", _start)
    for name, wrap_in in _IN_MODULES.items():
        _undo.append(when_imported(name, wrap_in))
    gc.callbacks.append(_gc_pause)
    _undo.append(lambda: gc.callbacks.remove(_gc_pause))
    _undo.append(memory_sampling.watch())


def uninstall(recorder: Recorder) -> None:
    """Removes the hooks, if `recorder` was the last to need them."""
    if ref(recorder) in _users:
        _remove(ref(recorder))


def _remove(user: ref[Recorder]) -> None:
    _users.remove(user)
    if not _users:
        pending_device_time.unwrap_libraries()
        while _undo:
            _undo.pop()()


def _wrap(owner: Any, name: str, hook: Callable[..., Any]) -> None:
    _undo.append(wrap(owner, name, hook))


def _start(start: Callable[..., None], thread: Any, *args: Any, **kwargs: Any) -> None:
    with suppress(Exception):  # bypasses a subclass's own `__setattr__`, which may do anything
        object.__setattr__(thread, "_ticktree_origins", origins(path=True))
    start(thread, *args, **kwargs)


def _submit(submit: Callable[..., Any], executor: Any, /, *args: Any, **kwargs: Any) -> Any:
    open_calls = origins(path=True)
    if args and open_calls and runs_in_this_interpreter(executor):
        return submit(executor, SubmittedCall(args[0], open_calls), *args[1:], **kwargs)
    return submit(executor, *args, **kwargs)


def runs_in_this_interpreter(executor: Any) -> bool:
    """Return whether an executor's threads run submitted calls, and do not send them to interpreters of their own."""
    module = sys.modules.get("concurrent.futures.interpreter")
    return module is None or not isinstance(executor, module.InterpreterPoolExecutor)


def _create_task(create: Callable[..., Any], loop: Any, *args: Any, **kwargs: Any) -> Any:
    """Sets the variable of origins while the new task's context is copied from this one."""
    open_calls = origins()
    context = kwargs.get("context")
    if context is not None:
        # Fails if it is running, as tasks that share a context cannot be distinguished, or if it is no context.
        with suppress(Exception):
            context.run(_set_origins, open_calls)
        return create(loop, *args, **kwargs)
    tokens = _set_origins(open_calls)
    try:
        return create(loop, *args, **kwargs)
    finally:
        for origin, token in zip(open_calls, tokens, strict=False):
            origin.recorder.origin_var.reset(token)


def _set_origins(open_calls: list[Origin]) -> list[Any]:
    return [origin.recorder.origin_var.set(origin) for origin in open_calls]


_IN_MODULES: dict[str, Callable[[ModuleType], None]] = {
    "concurrent.futures.thread": lambda module: _wrap(module.ThreadPoolExecutor, "submit", _submit),
    "asyncio.base_events": lambda module: _wrap(module.BaseEventLoop, "create_task", _create_task),
    "uvloop": lambda module: _wrap(module.Loop, "create_task", _create_task),
}


def _gc_pause(phase: str, _info: dict[str, int]) -> None:
    for user in tuple(_users):
        recorder = user()
        if recorder is not None:
            recorder.gc_pause(phase == "start")
