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
        operation(one.name, one.stats, one.stats.sum_ns, one.memory, one.device_memory) for one in operations
    ]
    return "\n".join(["PROFILING SUMMARY:", *table(OPERATIONS, rows)])


# The fact of a profile that names them.
FACT = "profiling_operations"


def report(profile: Profile, names: Collection[str]) -> Profile:
    """Return `profile` with the names of its operations."""
    return replace(profile, metadata={**profile.metadata, FACT: frozenset(names)})


def operations_in(profile: Profile) -> list[Operation]:
    """Return the operations, the one with the longest time first: of a profile that names none, all sections."""
    named = profile.metadata.get(FACT)
    names = {node.name for _, _, node in profile.root.walk()} if named is None else set(map(str, named))
    return list(operations(profile, names).values())


def as_text(profile: Profile) -> bytes:
    """Return the analysis: operations by name, then what ticktree says of each place in the tree."""
    found = operations_in(profile)
    by_name = f"{summary(found)}\n\n".encode() if found else b""
    return by_name + OUTPUTS["text"].render(profile)


def as_details(profile: Profile) -> bytes:
    """Return all numbers: the profile as JSON, with the operations by name before its tree."""
    fields = json.loads(OUTPUTS["json"].render(profile))
    tree = fields.pop("tree")
    paths: dict[str, list[str]] = {}
    for path, _, node in profile.root.walk():
        paths.setdefault(node.name, []).append(path)
    listed = [_details(one, paths[one.name]) for one in operations_in(profile)]
    return json.dumps({**fields, "operations": listed, "tree": tree}, separators=(",", ":")).encode() + b"\n"


def _details(one: Operation, paths: list[str]) -> dict[str, Any]:
    stats = one.stats
    return {
        "name": one.name,
        "count": stats.count,
        "total_ns": stats.sum_ns,
        "mean_ns": stats.mean_ns,
        "min_ns": stats.min_ns,
        "max_ns": stats.max_ns,
        "memory_peak_bytes": _peak_bytes(one.memory),
        "device_memory_peak_bytes": _peak_bytes(one.device_memory),
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
        self._switch.turn_on()

    def disable(self) -> None:
        """Record no operation from now on; what was recorded stays."""
        self._switch.turn_off()

    def reset(self) -> None:
        """Forget what was recorded, that of other sections too: there is one recording. Open calls begin again now."""
        current.recorder.reset()

    def operation(self, name: str, track_memory: bool = False) -> AbstractContextManager[Any]:
        """Return what times a block; nothing where nothing records."""
        return self._switch.section(name, memory=track_memory)

    def function(self, function: Function, name: str | None, track_memory: bool = False) -> Function:
        """Return `function` as an operation of that name, by default its qualified name."""
        inner = function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
        named = name or str(getattr(inner, "__qualname__", inner))
        return self._switch.function(function, named, memory=track_memory)

    def summary(self) -> str:
        """Return the table of operations, the one with the longest time first."""
        found = self._switch.operations().values()
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
        write_atomically(Path(path), report(current.snapshot(), self._switch.names).to_json().encode())
