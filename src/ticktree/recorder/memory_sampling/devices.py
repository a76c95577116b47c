"""Memory of devices: what libraries that own some say of it, where a program uses them already.

Nothing here imports a library or wakes a device: a library that is not imported, or has not begun to use a device, has
nothing in its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Protocol

from ticktree.recorder import _native as native
from ticktree.recorder.imports import when_imported

Reading = tuple[str, int, int]


class Allocator(Protocol):
    """What `torch.cuda` offers, and `torch.xpu` after it: the memory that torch's own allocator handed out."""

    def is_initialized(self) -> bool:
        """Tells whether the program uses a device already."""

    def device_count(self) -> int:
        """Return how many devices there are."""

    def memory_allocated(self, device: int) -> int:
        """Return the bytes in use now."""

    def max_memory_allocated(self, device: int) -> int:
        """Return the most that was in use since the last reset."""

    def reset_peak_memory_stats(self, device: int) -> None:
        """Forget that most: it starts again from what is in use."""


class Meter:
    """Reads the memory that one library handed out on devices of one kind.

    Args:
        kind: What the library calls them: "cuda".
        allocator: What to ask.
    """

    def __init__(self, kind: str, allocator: Allocator) -> None:
        self._kind = kind
        self._allocator = allocator

    def __call__(self) -> list[Reading] | None:
        """Return of each device that was ever used its name, the bytes in use, and the most since the last time.

        None where the library does not report it, and need not be called again.
        """
        try:
            if not self._allocator.is_initialized():
                return []
            return [reading for at in range(self._allocator.device_count()) if (reading := self._read(at))[2]]
        # What a library of another make, or a device in a bad state, raises. All else is a signal handler's.
        except (RuntimeError, AttributeError, TypeError, ValueError, AssertionError):
            return None

    def _read(self, at: int) -> Reading:
        peak = self._allocator.max_memory_allocated(at)
        if peak:
            self._allocator.reset_peak_memory_stats(at)
        return (f"{self._kind}:{at}", self._allocator.memory_allocated(at), peak)


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
        native.read_devices_by(Meter("cuda", cuda))
