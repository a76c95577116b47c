"""The manifest of a run: the facts in its `run.json`.

History of the format
    ticktree-run/1  the first.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from ticktree.errors import TicktreeError
from ticktree.files.guarded import parse_json
from ticktree.files.owner import Owner

FORMAT = "ticktree-run/1"
MANIFEST_NAME = "run.json"


class Manifest(NamedTuple):
    """The facts of a run that are known when it starts.

    Attributes:
        id: Unique among all runs of all machines; a merged profile distinguishes its runs by it.
        started_ns: Wall-clock nanoseconds since 1970 when the run was created.
        began_ns: The same instant on CLOCK_MONOTONIC; windows and worst ticks count from it.
        argv: The program's command line, script or `-m` first.
        directory: The run's directory when it was created, for processes that find only the memory.
        owner: The process that finishes the run: its supervisor, or the program itself.
        supervised: Whether the owner is a supervisor.
        memory: The directory of its memory files, while it has them.
        program_ended_ns: CLOCK_MONOTONIC when the supervised program had ended; 0 before, or without a supervisor.
    """

    id: str
    started_ns: int
    began_ns: int
    argv: tuple[str, ...]
    cwd: str
    directory: str
    owner: Owner
    supervised: bool
    memory: str
    metadata: dict[str, str | int | float | bool]
    program_ended_ns: int = 0

    def to_json(self) -> str:
        """Return the text of `run.json`."""
        fields = {"format": FORMAT, **self._asdict(), "owner": self.owner._asdict()}
        return json.dumps(fields, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Manifest:
        """Read a `run.json`; fields of later minor versions are ignored.

        Raises:
            TicktreeError: The text is not the manifest of a run, or has an unknown version.
        """
        try:
            data = parse_json(text)
        except ValueError as error:
            raise TicktreeError(str(error)) from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            file_format = data.get("format") if isinstance(data, dict) else None
            raise TicktreeError(f"format {file_format!r} is not {FORMAT}")
        manifest = cls(**{name: _read_field(data, name, kind) for name, kind in _KINDS.items()})
        owner = Owner(**{name: _read_field(data["owner"], name, kind) for name, kind in _OWNER_KINDS.items()})
        program_ended_ns = _read_field(data, "program_ended_ns", int) if "program_ended_ns" in data else 0
        return manifest._replace(
            argv=_require_strings(data["argv"]),
            owner=owner,
            metadata=_require_scalars(data["metadata"]),
            program_ended_ns=program_ended_ns,
        )


_KINDS: dict[str, type] = {
    "id": str,
    "started_ns": int,
    "began_ns": int,
    "argv": list,
    "cwd": str,
    "directory": str,
    "owner": dict,
    "supervised": bool,
    "memory": str,
    "metadata": dict,
}
_PATHS = frozenset({"cwd", "directory", "memory"})
_INT_LIMIT = 1 << 63
_OWNER_KINDS: dict[str, type] = {"pid": int, "started": int, "boot_id": str, "namespace": int}


def _read_field(data: dict[str, Any], name: str, kind: type) -> Any:
    value = data.get(name)
    # isinstance takes a bool for an int, and no field may be either.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TicktreeError(f"{name!r} is missing or not of type {kind.__name__}")
    if kind is int and not -_INT_LIMIT <= data[name] < _INT_LIMIT:
        raise TicktreeError(f"{name!r} is larger than it can be")
    if name in _PATHS and not _is_valid_path(data[name]):
        raise TicktreeError(f"{name!r} is no path")
    return value


def _is_valid_path(value: str) -> bool:
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _require_strings(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise TicktreeError("'argv' holds something that is not a string")
    return tuple(values)


def _require_scalars(values: dict[str, Any]) -> dict[str, str | int | float | bool]:
    if not all(isinstance(value, (str, int, float, bool)) for value in values.values()):
        raise TicktreeError("'metadata' holds something that is neither a string nor a number")
    return values
