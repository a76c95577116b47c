"""Kept ceilings: what `ticktree doctor --measure` found, a small file for each machine in the user's cache.

History of the format:

1   The first. One JSON object: `schema`, `fingerprint`, `ceilings` (NAME: positive number), `measured_wall_s` (of the
    last measurement), `measurements` (how many there were).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MOST_OF_FACTS, FileError, MissingFileError, json_in, read_bytes
from ticktree.machine.ceilings.fingerprint import Fingerprint, digest

SCHEMA = "ticktree-ceilings/1"
# Costs are kept at their minimum, everything else at its maximum.
_LOWEST = {"clock_read_ns"}


@dataclass(frozen=True, slots=True)
class Kept:
    """What a machine was found able to do.

    Attributes:
        ceilings: by name: rates a second, `clock_read_ns` a cost.
        measured_wall_s: when it was measured last, in seconds since 1970.
        measurements: how many times it was measured.
    """

    ceilings: Mapping[str, float]
    measured_wall_s: float
    measurements: int = 1

    def __add__(self, other: Kept) -> Kept:
        """Return the best of both: a ceiling is what a machine can do, however seldom it gets to."""
        ceilings = dict(self.ceilings)
        for name, value in other.ceilings.items():
            better = min if name in _LOWEST else max
            ceilings[name] = better(ceilings.get(name, value), value)
        return Kept(
            ceilings,
            max(self.measured_wall_s, other.measured_wall_s),
            self.measurements + other.measurements,
        )


class NotUsableError(TicktreeError):
    """A file of kept ceilings that cannot be used; the message says why."""


def folder() -> Path:
    """Return where ceilings are kept.

    Raises:
        NotUsableError: The user has no home.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if cache.is_absolute():  # others are to be ignored, says the XDG Base Directory Specification
        return cache / "ticktree"
    try:
        return Path.home() / ".cache" / "ticktree"
    except RuntimeError:
        raise NotUsableError("there is no home directory, and XDG_CACHE_HOME is not set") from None


def path_for(machine: Fingerprint) -> Path:
    """Return the file of a machine; homes are shared between machines, so each has its own.

    Raises:
        NotUsableError: There is no place.
    """
    return folder() / f"ceilings-{digest(machine)}.json"


def load(machine: Fingerprint) -> Kept | None:
    """Return what is kept of `machine`; None where nothing is.

    Raises:
        NotUsableError: What is kept cannot be read, is damaged, or is of another machine.
    """
    path = path_for(machine)
    try:
        text = read_bytes(path, MOST_OF_FACTS)
    except MissingFileError:
        return None
    except FileError as error:
        raise NotUsableError(f"{path} cannot be read: {error.reason}") from None
    try:
        value = json_in(text)
    except ValueError:
        raise NotUsableError(f"{path} is damaged: it is not JSON") from None
    kept = _kept(value)
    if kept is None:
        raise NotUsableError(f"{path} is damaged: it holds no ceilings of {SCHEMA}")
    if value.get("fingerprint") != machine:
        raise NotUsableError(f"{path} is of another machine")
    return kept


def save(machine: Fingerprint, kept: Kept) -> Path:
    """Keep the ceilings of `machine`, in place of what was kept of it; return where.

    Raises:
        NotUsableError: They cannot be kept there.
    """
    path = path_for(machine)
    value = {
        "schema": SCHEMA,
        "fingerprint": machine,
        "ceilings": dict(kept.ceilings),
        "measured_wall_s": kept.measured_wall_s,
        "measurements": kept.measurements,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(value, indent=1).encode() + b"\n")
    except OSError as error:
        raise NotUsableError(f"the ceilings cannot be kept in {path.parent}: {error.strerror}") from None
    return path


def of_others(machine: Fingerprint) -> int:
    """Return how many other machines ceilings are kept of, in the same place."""
    try:
        mine = path_for(machine).name
        return sum(1 for path in folder().glob("ceilings-*.json") if path.name != mine)
    except (NotUsableError, OSError):
        return 0


def _kept(value: Any) -> Kept | None:
    """Return what a file says; None where it says anything else."""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        return None
    found, when, times = value.get("ceilings"), value.get("measured_wall_s"), value.get("measurements")
    if not isinstance(found, dict) or not found:
        return None
    if not (_is_amount(when) and _is_amount(times) and all(map(_is_amount, found.values()))):
        return None
    return Kept({str(name): number for name, number in found.items()}, float(when), int(times))


def _is_amount(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e300
