"""What a program waits for: queues, pipes, locks, threads, processes, programs and futures; and what woke it.

A call that may block is a wait with its own row inside an open section and on the main thread; elsewhere, as
in helper threads that wait all the time, it has no row. What is part of another wait has none either.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Hook, Instrument
from ticktree.recorder import Recorder

# What wraps a module of the standard library: imported with it, for many a process imports few of these.
_WRAPS = {
    "threading": ("threads", "wrap"),
    "queue": ("queues", "wrap"),
    "concurrent.futures._base": ("threads", "wrap_futures"),
    "multiprocessing.connection": ("pipes", "wrap"),
    "multiprocessing.queues": ("queues", "wrap_shared"),
    "multiprocessing.synchronize": ("locks", "wrap"),
    "subprocess": ("processes", "wrap_programs"),
    "multiprocessing.process": ("processes", "wrap"),
}


def _hook(part: str, function: str) -> Hook:
    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        getattr(import_module(f"{__name__}.{part}"), function)(patches, recorder, module)

    return wrap


# Locks that are made until all is put back keep a wrapper that does nothing.
INSTRUMENT = Instrument("", hooks={name: _hook(*where) for name, where in _WRAPS.items()})
