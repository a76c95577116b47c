"""Shared by the replacements: choice of the recorder, the decorator, sums by name, and plain tables."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from ticktree.outputs import text
from ticktree.profile import Memory, Profile
from ticktree.profile.stats import Stats
from ticktree.profile.table import merge_present
from ticktree.recorder import IS_OFF, Recorder
from ticktree.recorder import timed as timed_by
from ticktree.recorder.wrapping import make_wrapper
from ticktree.session import current

Function = TypeVar("Function", bound=Callable[..., Any])


def timed_with(
    get_recorder: Callable[[], Recorder | None], target: Any, name: str | None = None, *, memory: bool = False
) -> Any:
    """Make `target` a section of the recorder that `get_recorder` returns at each call; None does not record.

    Raises:
        TypeError: `target` is not callable.
    """
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(timed_with(get_recorder, target.__func__, name, memory=memory))
    if not callable(target):
        raise TypeError(f"@timed wants a function, not {target!r}")
    return target if IS_OFF else _wrap(target, _TimedVariants(get_recorder, target, name, memory))


class _TimedVariants:
    """A function, and its timed variant for each recorder."""

    def __init__(
        self,
        get_recorder: Callable[[], Recorder | None],
        function: Callable[..., Any],
        name: str | None,
        memory: bool,
    ) -> None:
        self._get_recorder = get_recorder
        self._function = function
        self._name = name
        self._memory = memory
        self._variants: weakref.WeakKeyDictionary[Recorder, Callable[..., Any]] = weakref.WeakKeyDictionary()
        self._last: tuple[Recorder | None, Callable[..., Any]] = (None, function)

    def get(self) -> Callable[..., Any]:
        recorder = self._get_recorder()
        if recorder is None:
            return self._function
        last_recorder, variant = self._last
        if last_recorder is recorder:
            return variant
        if recorder not in self._variants:
            self._variants[recorder] = timed_by(recorder, self._name, memory=self._memory)(self._function)
        variant = self._variants[recorder]
        self._last = (recorder, variant)
        return variant


def _wrap(function: Callable[..., Any], variants: _TimedVariants) -> Callable[..., Any]:
    """Return a function of the same kind: inspection must find a coroutine function to be one."""

    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        return await variants.get()(*args, **kwargs)

    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from variants.get()(*args, **kwargs))

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return variants.get()(*args, **kwargs)

    if inspect.iscoroutinefunction(function):
        return make_wrapper(function, coroutine)
    return make_wrapper(function, generator if inspect.isgeneratorfunction(function) else wrapper)


@dataclass(frozen=True, slots=True)
class Operation:
    """All calls of one name and, if sampled, the memory of the process and of devices that they needed.

    The time of a call inside another call of the same name counts in both.
    """

    name: str
    stats: Stats
    memory: Memory | None = None
    device_memory: Memory | None = None

    def __add__(self, other: Operation) -> Operation:
        return Operation(
            self.name,
            self.stats + other.stats,
            merge_present(self.memory, other.memory),
            merge_present(self.device_memory, other.device_memory),
        )


def operations(profile: Profile, names: Collection[str]) -> dict[str, Operation]:
    """Return the operations in `names` that were called, by name, longest total time first."""
    by_name: dict[str, Operation] = {}
    for path, _, node in profile.root.walk():
        if path and node.name in names and node.count:
            operation = Operation(node.name, node.stats, node.memory, node.device_memory)
            by_name[node.name] = by_name[node.name] + operation if node.name in by_name else operation
    return dict(sorted(by_name.items(), key=lambda item: (-item[1].stats.sum_ns, item[0])))


class Switch:
    """Whether a replacement records, and the names of the sections that its functions mark.

    Until the program enables or disables it, a replacement records whenever the session does: under `ticktree run` the
    program's marks are recorded without a call to enable them.
    """

    def __init__(self) -> None:
        self._is_enabled: bool | None = None
        self.names: set[str] = set()

    @property
    def recorder(self) -> Recorder | None:
        """The recorder to use now; None if disabled."""
        is_recording = current.recorder.recording if self._is_enabled is None else self._is_enabled
        return current.recorder if is_recording else None

    def enable(self) -> None:
        """Record from now on; in memory only, unless there is a run."""
        if IS_OFF:
            return
        current.resume()
        self._is_enabled = True

    def disable(self) -> None:
        """Stop to record this replacement's sections; all other recording continues."""
        self._is_enabled = False

    def section(self, name: str, *, memory: bool = False) -> AbstractContextManager[Any]:
        """Return a context manager that times a block; it does nothing if nothing records at this call."""
        recorder = self.recorder
        if recorder is None:
            return nullcontext()
        self.names.add(name)
        return recorder.section(name, memory=memory)

    def function(self, function: Function, name: str, *, memory: bool = False) -> Function:
        """Return a function that is a section while this replacement records."""
        self.names.add(name)
        timed_function: Function = timed_with(lambda: self.recorder, function, name, memory=memory)
        return timed_function

    def operations(self) -> dict[str, Operation]:
        """Return the operations recorded so far."""
        return operations(current.snapshot(), self.names)


_MAX_NAME_LENGTH = 60


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; long names are cut to their end."""
    lines = list(text.table(heads, [[_shorten(name), *cells] for name, *cells in rows]))
    return [*lines, lines[0]]


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else "..." + name[3 - _MAX_NAME_LENGTH :]
