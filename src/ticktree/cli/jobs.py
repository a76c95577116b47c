"""Jobs: the timelines of several machines' runs in one picture, which says what is known of their clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ticktree.analysis.offsets import Offset, offset
from ticktree.errors import TicktreeError
from ticktree.loading import find_run
from ticktree.outputs.writing import formatting
from ticktree.profile.timeline import Timeline, together
from ticktree.run.finishing import RunDirectory

UNKNOWN = "its own clock: not aligned"


def job_timeline(paths: Sequence[Path]) -> tuple[Timeline, list[str]]:
    """Return the timelines of a job's runs as one, on the clock of the first; and what to say of each other run.

    A run whose clock's offset is not known begins where the first does, and says so.

    Raises:
        TicktreeError: One is no run, has no timeline, or cannot be read.
    """
    runs = [find_run(path) for path in paths]
    parts = [_timeline(run) for run in runs]
    known = [Offset(0, 0, 0), *(offset(part, parts[0]) for part in parts[1:])]
    first_ns = min(found.ns if found else 0 for found in known)
    placed, said = [], []
    for number, (run, part, found) in enumerate(zip(runs, parts, known, strict=True)):
        words = _said(found) if number else "the clock of this timeline"
        said.append(f"{_host(run)}: {words}")
        placed.append(_placed(part, number, f"{_host(run)}, {words}", (found.ns if found else 0) - first_ns))
    return together(placed), said


def _timeline(run: RunDirectory) -> Timeline:
    timeline = run.timeline()
    if timeline is None:
        raise TicktreeError(f"{run.path} has no timeline: `ticktree run --timeline` records one")
    return timeline


def _host(run: RunDirectory) -> str:
    return f"{run.manifest.metadata.get('host') or 'a machine'} ({run.path.name})"


def _said(found: Offset | None) -> str:
    if found is None:
        return UNKNOWN
    sign = "-" if found.ns < 0 else "+"
    return f"clock {sign}{formatting.time(abs(found.ns))}, at most {formatting.time(found.bound_ns)} more or less"


def _placed(part: Timeline, number: int, where: str, shift_ns: int) -> Timeline:
    """One run's timeline with its lanes named after its machine, moved by so much."""
    lanes = tuple(
        lane._replace(process=f"{lane.process}@{number}", process_name=f"{lane.process_name} on {where}")
        for lane in part.lanes
    )
    # Only the clock of the first is that of the whole.
    wall = part.began_wall_ns - shift_ns if number == 0 and part.began_wall_ns is not None else None
    return replace(part, lanes=lanes, start_ns=part.start_ns + shift_ns, began_wall_ns=wall)
