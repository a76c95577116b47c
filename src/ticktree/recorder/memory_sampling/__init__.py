"""Memory that calls need, of the process and of devices: on demand, and sampled. This file reads torch's devices.

It does not import a library or wake a device: a library that is not imported, or has not begun to use a device, has
no memory there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from ticktree.recorder import _native as native
from ticktree.recorder.imports import when_imported


def memory_of(cuda: Any) -> list[tuple[str, int, int]] | None:
    """Return the name, the bytes in use, and the peak since the last call, of every device that was ever used.

    None if the library does not report them, and need not be called again.

    Args:
        cuda: `torch.cuda`, which reports the memory of torch's own allocator.
    """
    try:
        if not cuda.is_initialized():
            return []
        return [reading for index in range(cuda.device_count()) if (reading := _reading(cuda, index))[2]]
    # Raised by another version of the library, or a device in a bad state. Other exceptions are a signal handler's.
    except (RuntimeError, AttributeError, TypeError, ValueError, AssertionError):
        return None


def _reading(cuda: Any, index: int) -> tuple[str, int, int]:
    peak = cuda.max_memory_allocated(index)
    if peak:
        cuda.reset_peak_memory_stats(index)
    return (f"cuda:{index}", cuda.memory_allocated(index), peak)


def watch() -> Callable[[], None]:
    """Measure the memory of devices from the moment their library is imported.

    Returns:
        A function that ends it.
    """
    cancel = when_imported("torch", _watch_torch)

    def end() -> None:
        cancel()
        native.read_devices_by(None)

    return end


def _watch_torch(torch: ModuleType) -> None:
    cuda = getattr(torch, "cuda", None)
    if cuda is not None:
        native.read_devices_by(partial(memory_of, cuda))
