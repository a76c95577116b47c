"""Series: runs that may be held against one another, in the order in which they began.

A new laptop is no regression, and neither is a larger batch: only runs of one program, with the same arguments, on
machines that are alike make a series.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ticktree.profile.metadata import Value
from ticktree.profile.remembered import Remembered

# What a machine is known by: what decides how fast it is, and stays as it is when its kernel is updated. The host's
# name is no part of it: containers and cloud machines get a new one each time.
_MACHINE = ("cpu", "cores", "cores_usable", "gpus")
_COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Series:
    """Runs of one program on machines that are alike.

    Attributes:
        program: its command line; without arguments where any were taken for the same.
        machine: the facts that it is known by; empty where none is known.
        runs: oldest first, at least one.
        is_current: whether the program's newest run of all is among them: what is told of others is past.
    """

    program: str
    machine: Mapping[str, Value]
    runs: Sequence[Remembered]
    is_current: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return what it is of, as `history --format json` gives it."""
        return {
            "program": self.program,
            "machine": dict(self.machine),
            "current": self.is_current,
            "runs": [
                {
                    "id": run.id,
                    "directory": run.folder,
                    "started_ns": run.started_ns,
                    "commit": run.commit or None,
                    "dirty": run.is_dirty,
                }
                for run in self.runs
            ],
        }


def grouped(runs: Iterable[Remembered], *, any_arguments: bool = False) -> list[Series]:
    """Return runs in series, the one with the newest run first.

    Args:
        runs: in any order.
        any_arguments: whether a program's arguments make no difference.
    """
    found: dict[tuple[str, tuple[tuple[str, Value], ...]], list[Remembered]] = {}
    for run in sorted(runs, key=lambda run: (run.started_ns, run.id)):
        found.setdefault((_program(run, any_arguments), tuple(_machine(run).items())), []).append(run)
    series = [Series(program, dict(machine), each) for (program, machine), each in found.items()]
    series.sort(key=lambda one: one.runs[-1].started_ns, reverse=True)
    programs: set[str] = set()
    for at, one in enumerate(series):
        series[at] = replace(one, is_current=one.program not in programs)
        programs.add(one.program)
    return series


def _machine(run: Remembered) -> dict[str, Value]:
    return {key: run.facts[key] for key in _MACHINE if key in run.facts}


def _program(run: Remembered, any_arguments: bool) -> str:
    command = str(run.facts.get(_COMMAND, run.facts.get("name", "")))
    if not any_arguments:
        return command
    with suppress(ValueError):  # it need not be a command line of ours
        words = shlex.split(command)
        return shlex.join(words[:2] if words[:1] == ["-m"] else words[:1])
    return command
