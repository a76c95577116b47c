"""Memory that calls need, of the process and of devices: on demand, and sampled. Here: what torch says of its devices.

Nothing here imports a library or wakes a device: a library that is not imported, or has not begun to use a device, has
nothing in its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from ticktree.recorder import _native as native
from ticktree.recorder.imports import when_imported


def memory_of(cuda: Any) -> list[tuple[str, int, int]] | None:
    """Return of each device that was ever used its name, the bytes in use, and the most since the last time.

    None where the library does not report it, and need not be called again.

    Args:
        cuda: What to ask: `torch.cuda`, of the memory that torch's own allocator handed out.
    """
    try:
        if not cuda.is_initialized():
            return []
        return [reading for at in range(cuda.device_count()) if (reading := _reading(cuda, at))[2]]
    # What a library of another make, or a device in a bad state, raises. All else is a signal handler's.
    except (RuntimeError, AttributeError, TypeError, ValueError, AssertionError):
        return None


def _reading(cuda: Any, at: int) -> tuple[str, int, int]:
    peak = cuda.max_memory_allocated(at)
    if peak:
        cuda.reset_peak_memory_stats(at)
    return (f"cuda:{at}", cuda.memory_allocated(at), peak)


def watch() -> Callable[[], None]:
    """Measures the memory of devices from the moment their library is imported.

    Returns:
        What ends it.
    """
    forget = when_imported("torch", _watch_torch)

    def end() -> None:
        forget()
        native.read_devices_by(None)

    return end


def _watch_torch(torch: ModuleType) -> None:
    cuda = getattr(torch, "cuda", None)
    if cuda is not None:
        native.read_devices_by(partial(memory_of, cuda))
