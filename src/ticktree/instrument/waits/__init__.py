"""What a program waits for: queues, pipes, locks, threads, processes, programs and futures; and who let it go on.

A call that may block is a wait of its own inside an open section and on the main thread; elsewhere, as in helper
threads that wait all the time, it has no row. What is part of another wait has none either.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# What wraps a module of the standard library: imported with it, for many a process imports few of these.
_WRAPS = {
    "threading": ("threads", "wrap"),
    "queue": ("queues", "wrap"),
    "concurrent.futures._base": ("futures", "wrap"),
    "multiprocessing.connection": ("pipes", "wrap"),
    "multiprocessing.queues": ("queues", "wrap_shared"),
    "multiprocessing.synchronize": ("locks", "wrap"),
    "subprocess": ("commands", "wrap"),
    "multiprocessing.process": ("processes", "wrap"),
}

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps what can block, in each module that is or will be imported."""
    for name, (part, function) in _WRAPS.items():
        _patches.watch(name, partial(_wrap, recorder, part, function))


def uninstall() -> None:
    """Puts everything back. Locks that were made meanwhile keep a wrapper that does nothing."""
    _patches.undo()


def _wrap(recorder: Recorder, part: str, function: str, module: ModuleType) -> None:
    getattr(import_module(f"{__name__}.{part}"), function)(_patches, recorder, module)
