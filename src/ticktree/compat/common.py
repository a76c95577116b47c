"""What the faces share: which recorder is used, the decorator, all calls of one name, and plain tables."""

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
from ticktree.profile.table import present
from ticktree.recorder import OFF_FOR_GOOD, Recorder
from ticktree.recorder import timed as timed_by
from ticktree.recorder.wrapping import stand_for
from ticktree.session import current

Function = TypeVar("Function", bound=Callable[..., Any])


def timed_on(
    recorder_now: Callable[[], Recorder | None], target: Any, name: str | None = None, *, memory: bool = False
) -> Any:
    """Make `target` a section of what `recorder_now` returns at each call: None where nothing records.

    Raises:
        TypeError: It cannot be called.
    """
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(timed_on(recorder_now, target.__func__, name, memory=memory))
    if not callable(target):
        raise TypeError(f"@timed wants a function, not {target!r}")
    return target if OFF_FOR_GOOD else _wrapped(target, _Variants(recorder_now, target, name, memory))


class _Variants:
    """A function as each requested recorder times it."""

    def __init__(
        self,
        recorder_now: Callable[[], Recorder | None],
        function: Callable[..., Any],
        name: str | None,
        memory: bool,
    ) -> None:
        self._recorder_now = recorder_now
        self._function = function
        self._name = name
        self._memory = memory
        self._made: weakref.WeakKeyDictionary[Recorder, Callable[..., Any]] = weakref.WeakKeyDictionary()
        self._last: tuple[Recorder | None, Callable[..., Any]] = (None, function)

    def now(self) -> Callable[..., Any]:
        recorder = self._recorder_now()
        if recorder is None:
            return self._function
        known, variant = self._last
        if known is recorder:
            return variant
        made = self._made.get(recorder)
        variant = made or timed_by(recorder, self._name, memory=self._memory)(self._function)
        self._made[recorder] = variant
        self._last = (recorder, variant)
        return variant


def _wrapped(function: Callable[..., Any], variants: _Variants) -> Callable[..., Any]:
    """Return a function of the same kind: inspection must find a coroutine function to be one."""

    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        return await variants.now()(*args, **kwargs)

    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from variants.now()(*args, **kwargs))

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return variants.now()(*args, **kwargs)

    if inspect.iscoroutinefunction(function):
        return stand_for(function, coroutine)
    return stand_for(function, generator if inspect.isgeneratorfunction(function) else wrapper)


@dataclass(frozen=True, slots=True)
class Operation:
    """All calls of one name, and the memory that they needed, of the process and of devices, where that was sampled.

    A name that is open inside itself counts in both calls, as it does where each call is timed by itself.
    """

    name: str
    stats: Stats
    memory: Memory | None = None
    device_memory: Memory | None = None

    def __add__(self, other: Operation) -> Operation:
        return Operation(
            self.name,
            self.stats + other.stats,
            present(self.memory, other.memory),
            present(self.device_memory, other.device_memory),
        )


def operations(profile: Profile, names: Collection[str]) -> dict[str, Operation]:
    """Return those of `names` that were called, by name, the one with the longest time first."""
    found: dict[str, Operation] = {}
    for path, _, node in profile.root.walk():
        if path and node.name in names and node.count:
            one = Operation(node.name, node.stats, node.memory, node.device_memory)
            found[node.name] = found[node.name] + one if node.name in found else one
    ranked = sorted(found.values(), key=lambda one: (-one.stats.sum_ns, one.name))
    return {one.name: one for one in ranked}


class Switch:
    """What a face's functions for enabling and disabling act on, and the names of what its functions mark.

    Until the program uses one of them, the face records whenever the session does: under `ticktree run` the program
    shows what its author marked without a call to enable it.
    """

    def __init__(self) -> None:
        self._choice: bool | None = None
        self.names: set[str] = set()

    @property
    def recorder(self) -> Recorder | None:
        """What records now; None where nothing does."""
        on = current.recorder.recording if self._choice is None else self._choice
        return current.recorder if on else None

    def turn_on(self) -> None:
        """Record from now on; in memory only, unless there is a run."""
        if OFF_FOR_GOOD:
            return
        current.resume()
        self._choice = True

    def turn_off(self) -> None:
        """Record nothing of this face from now on; all other recording continues."""
        self._choice = False

    def section(self, name: str, *, memory: bool = False) -> AbstractContextManager[Any]:
        """Return what times a block; nothing where nothing records, which is settled by this call."""
        recorder = self.recorder
        if recorder is None:
            return nullcontext()
        self.names.add(name)
        return recorder.section(name, memory=memory)

    def function(self, function: Function, name: str, *, memory: bool = False) -> Function:
        """Return a function as a section while this face records."""
        self.names.add(name)
        wrapped: Function = timed_on(lambda: self.recorder, function, name, memory=memory)
        return wrapped

    def operations(self) -> dict[str, Operation]:
        """Return what was recorded of these names by now."""
        return operations(current.snapshot(), self.names)


_NAME_AT_MOST = 60


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines; of a name that is too long its end is shown."""
    lines = list(text.table(heads, [[_ended(name), *cells] for name, *cells in rows]))
    return [*lines, lines[0]]


def _ended(name: str) -> str:
    return name if len(name) <= _NAME_AT_MOST else "..." + name[3 - _NAME_AT_MOST :]
