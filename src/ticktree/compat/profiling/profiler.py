"""The profiler: on and off, a summary by operation, and the report that the analyzer reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ticktree.compat.common import Operation, Switch, operations, table
from ticktree.files.atomic import write_atomically
from ticktree.outputs import OUTPUTS
from ticktree.outputs.text import OPERATIONS, operation
from ticktree.profile import Memory, Profile
from ticktree.session import current


def summary(operations: Iterable[Operation]) -> str:
    """Return the table of operations, in the order in which they come."""
    rows = [
        operation(row.name, row.stats, row.stats.sum_ns, row.memory, row.device_memory) for row in operations
    ]
    return "\n".join(["PROFILING SUMMARY:", *table(OPERATIONS, rows)])


# The fact of a profile that contains the names of its operations.
OPERATIONS_FACT = "profiling_operations"


def report(profile: Profile, names: Collection[str]) -> Profile:
    """Return `profile` with the names of its operations."""
    return replace(profile, metadata={**profile.metadata, OPERATIONS_FACT: frozenset(names)})


def operations_in(profile: Profile) -> list[Operation]:
    """Return the operations, longest total time first; all sections if the profile contains no names."""
    sections = (node.name for _, _, node in profile.root.walk())
    names = map(str, profile.metadata.get(OPERATIONS_FACT, sections))
    return list(operations(profile, set(names)).values())


def as_text(profile: Profile) -> bytes:
    """Return the analysis: operations by name, then ticktree's text report."""
    by_name = operations_in(profile)
    header = f"{summary(by_name)}\n\n".encode() if by_name else b""
    return header + OUTPUTS["text"].render(profile)


def as_details(profile: Profile) -> bytes:
    """Return all numbers: the profile as JSON, with the operations by name before its tree."""
    fields = json.loads(OUTPUTS["json"].render(profile))
    tree = fields.pop("tree")
    paths: dict[str, list[str]] = {}
    for path, _, node in profile.root.walk():
        paths.setdefault(node.name, []).append(path)
    details = [_details(row, paths[row.name]) for row in operations_in(profile)]
    return json.dumps({**fields, "operations": details, "tree": tree}, separators=(",", ":")).encode() + b"\n"


def _details(row: Operation, paths: list[str]) -> dict[str, Any]:
    stats = row.stats
    return {
        "name": row.name,
        "count": stats.count,
        "total_ns": stats.sum_ns,
        "mean_ns": stats.mean_ns,
        "min_ns": stats.min_ns,
        "max_ns": stats.max_ns,
        "memory_peak_bytes": _peak_bytes(row.memory),
        "device_memory_peak_bytes": _peak_bytes(row.device_memory),
        "paths": paths,
    }


def _peak_bytes(memory: Memory | None) -> int | None:
    return None if memory is None else memory.peak_bytes


Function = TypeVar("Function", bound=Callable[..., Any])


class Profiler:
    """The program's profiler. It records in the program's own recorder: under `ticktree run`, into the run."""

    def __init__(self) -> None:
        self._switch = Switch()

    @property
    def enabled(self) -> bool:
        """Whether operations are recorded. Under `ticktree run` they are, unless the program disables it."""
        return self._switch.recorder is not None

    def enable(self) -> None:
        """Record operations from now on."""
        self._switch.enable()

    def disable(self) -> None:
        """Stop to record operations; recorded data stays."""
        self._switch.disable()

    def reset(self) -> None:
        """Reset the program's one recording, other sections included. Open calls begin again now."""
        current.recorder.reset()

    def operation(self, name: str, track_memory: bool = False) -> AbstractContextManager[Any]:
        """Return a context manager that times a block; it does nothing while disabled."""
        return self._switch.section(name, memory=track_memory)

    def function(self, function: Function, name: str | None, track_memory: bool = False) -> Function:
        """Return `function` as an operation of that name, by default its qualified name."""
        wrapped = function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
        operation_name = name or str(getattr(wrapped, "__qualname__", wrapped))
        return self._switch.function(function, operation_name, memory=track_memory)

    def summary(self) -> str:
        """Return the table of operations, longest total time first."""
        recorded = self._switch.operations().values()
        if not recorded:
            return (
                "No operation was recorded." if self.enabled else "Profiling is off: get_profiler().enable()."
            )
        return summary(recorded)

    def print_summary(self) -> None:
        """Print the table of operations to standard error."""
        print(self.summary(), file=sys.stderr)

    def save_report(self, path: str | Path) -> None:
        """Write the recorded profile as JSON, for the analyzer, `ticktree report` and `ticktree compare`.

        Raises:
            OSError: It cannot be written; an existing file stays unchanged.
        """
        write_atomically(Path(path), report(current.snapshot(), self._switch.names).to_json().encode())
