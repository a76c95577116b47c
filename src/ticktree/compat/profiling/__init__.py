"""A training pipeline's profiling package, recorded by ticktree: in place of its `profiling`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from ticktree.compat.profiling.profiler import Profiler

__all__ = ["Profiler", "get_profiler", "profile", "profile_function"]

Function = TypeVar("Function", bound=Callable[..., Any])

_profiler = Profiler()


def get_profiler() -> Profiler:
    """Return the program's profiler; there is one."""
    return _profiler


def profile(name: str, track_memory: bool = False) -> AbstractContextManager[Any]:
    """Return a context manager that times a block. This call decides whether it records.

    Args:
        name: The operation.
        track_memory: Whether to sample the memory that a call needs, of the process and of GPUs.
    """
    return _profiler.operation(name, track_memory)


def profile_function(name: str | None = None, track_memory: bool = False) -> Callable[[Function], Function]:
    """Make a function an operation: `@profile_function("render")`.

    Args:
        name: The operation; by default the function's qualified name.
        track_memory: Whether to sample the memory that a call needs, of the process and of GPUs.
    """
    return lambda function: _profiler.function(function, name, track_memory)
