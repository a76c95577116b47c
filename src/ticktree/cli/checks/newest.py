"""What is in a run, and if nothing is, why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ticktree.cli.diagnosis import why_empty
from ticktree.cli.focus import never_called_of
from ticktree.errors import TicktreeError
from ticktree.loading import load
from ticktree.outputs.writing import formatting
from ticktree.profile.machine import FOCUS_UNSEEN, programs_own
from ticktree.run.directory import DEFAULT_OUT
from ticktree.run.finishing import RunDirectory
from ticktree.run.instrument_losses import instrument_losses


def check(path: Path | None) -> Iterator[str]:
    """Yield what the run at `path`, or the newest here, holds."""
    if path is None:
        runs = RunDirectory.list(DEFAULT_OUT)
        if not runs:
            yield (
                f"None in {DEFAULT_OUT} yet: `ticktree run SCRIPT` makes one, and so does a program that "
                "calls ticktree.enable(). `ticktree demo` shows one."
            )
            return
        path = runs[-1].path
    try:
        profile = load(path)
    except TicktreeError as error:
        if path.exists():
            yield f"{error}."
            return
        raise
    if FOCUS_UNSEEN in profile.gauges:
        yield f"{path.name}: another profiler had the place that --focus looks from: calls may be missing."
    for name in never_called_of(profile):
        yield f"{path.name}: --focus {name} was never called."
    for sentence in instrument_losses(profile):
        yield f"{path.name}: {sentence}."
    reason = why_empty(profile)
    if reason is not None:
        yield f"{path.name} is empty: {reason}."
        return
    nodes = sum(1 for _ in profile.root.walk()) - 1
    calls = sum(node.count for _, _, node in profile.root.walk())
    counts = (
        (nodes, "node"),
        (calls, "call"),
        (len(profile.loops), "loop"),
        (len(programs_own(profile.gauges)), "gauge"),
    )
    yield f"{path.name}: {', '.join(formatting.counted(number, noun) for number, noun in counts)}."
