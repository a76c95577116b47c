"""The profiler: on and off, a summary by operation, and the report that the analyzer reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from ticktree.compat.decorator import timed_on
from ticktree.compat.operation import operations
from ticktree.compat.switch import Switch
from ticktree.files.atomic import write_atomically
from ticktree.session import current

Function = TypeVar("Function", bound=Callable[..., Any])


class Profiler:
    """The program's profiler. It records in the program's own recorder: under `ticktree run`, into the run."""

    def __init__(self) -> None:
        self._switch = Switch()
        self._names: set[str] = set()

    @property
    def enabled(self) -> bool:
        """Whether operations are recorded. Under `ticktree run` they are, unless the program disables it."""
        return self._switch.recorder is not None

    def enable(self) -> None:
        """Record operations from now on."""
        self._switch.turn_on()

    def disable(self) -> None:
        """Record no operation from now on; what was recorded stays."""
        self._switch.turn_off()

    def reset(self) -> None:
        """Forget what was recorded, that of other sections too: there is one recording. Open calls begin again now."""
        current.recorder.reset()

    def operation(self, name: str, track_memory: bool = False) -> AbstractContextManager[Any]:
        """Return what times a block; nothing where nothing records."""
        recorder = self._switch.recorder
        if recorder is None:
            return nullcontext()
        self._names.add(name)
        return recorder.section(name, memory=track_memory)

    def function(self, function: Function, name: str | None, track_memory: bool = False) -> Function:
        """Return `function` as an operation of that name, by default its qualified name."""
        inner = function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
        named = name or str(getattr(inner, "__qualname__", inner))
        self._names.add(named)
        wrapped: Function = timed_on(lambda: self._switch.recorder, function, named, memory=track_memory)
        return wrapped

    def summary(self) -> str:
        """Return the table of operations, the one with the longest time first."""
        from ticktree.compat.profiling.summary import summary  # what draws is loaded when it is first wanted

        found = operations(current.snapshot(), self._names).values()
        if not found:
            return (
                "No operation was recorded." if self.enabled else "Profiling is off: get_profiler().enable()."
            )
        return summary(found)

    def print_summary(self) -> None:
        """Print the table of operations to standard error."""
        print(self.summary(), file=sys.stderr)

    def save_report(self, path: str | Path) -> None:
        """Write what was recorded as JSON, for the analyzer, `ticktree report` and `ticktree compare`.

        Raises:
            OSError: It cannot be written; what was there before is as it was.
        """
        from ticktree.compat.profiling.report import report

        write_atomically(Path(path), report(current.snapshot(), self._names).to_json().encode())
