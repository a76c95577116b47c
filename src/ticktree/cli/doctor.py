"""`ticktree doctor`: what can be measured here, how well, and why a profile is empty."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from ticktree.cli import machine_checks, recording_checks
from ticktree.cli.measuring import measure as measure_all
from ticktree.cli.measuring import table
from ticktree.cli.runs import RUN, CommandOfRuns
from ticktree.cli.screen import note, progress, show, view_options
from ticktree.errors import one_line
from ticktree.machine import ceilings, processor
from ticktree.machine.ceilings import fingerprint
from ticktree.outputs import terminal
from ticktree.run.abandoned import finish_abandoned

# What is found out, and a function that says it: a sentence a line.
_CHECKS: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
    ("python", machine_checks.interpreter),
    ("clock", machine_checks.clock),
    ("section", machine_checks.cost),
    ("memory", machine_checks.memory),
    ("cores", machine_checks.cores),
    ("noise", machine_checks.noise),
    ("ceilings", machine_checks.limits),
    ("devices", machine_checks.devices),
    ("recording", recording_checks.recording),
    ("libraries", recording_checks.libraries),
)


@click.command(
    "doctor", cls=CommandOfRuns, short_help="What can be measured here, and why a profile is empty."
)
@click.argument("run", type=RUN, required=False)
@click.option(
    "--measure",
    is_flag=True,
    help="Find out what this machine can do at most, keep it for this and later runs, and do nothing else.",
)
def command(run: Path | None, measure: bool) -> None:
    """Examine this machine and this Python, and a run: RUN, or the newest in ./ticktree-runs.

    Says which Python this is, which clock is used and why, what a section costs, how much memory a run may
    claim, how many cores there are, how often this machine interrupts what runs on it, what it can do at most,
    of which devices the time can be measured, whether a program is recorded at all, which libraries are
    instrumented, which of them could not be in the run, and if the run is empty, why.
    """
    if measure:
        if run is not None:
            raise click.UsageError("--measure is about the machine and takes no RUN.")
        _measure()
        return
    finish_abandoned()
    for name, check in (*_CHECKS, ("run", lambda: recording_checks.newest(run))):
        with progress(f"looking at the {name}"):
            found = list(check())
        show(_paragraph(name, found).encode(errors="backslashreplace"), sys.stdout)


def _measure() -> None:
    """Measure this machine, keep the best of this and earlier times, and say what was found."""
    machine = fingerprint()
    is_busy = os.getloadavg()[0] > processor.usable_cores() / 2
    now = measure_all()
    try:
        earlier = ceilings.load(machine)
    except ceilings.NotUsableError as error:
        note(f"{error}; it is replaced.")
        earlier = None
    best = now if earlier is None else earlier + now
    show(terminal.draw([table(now, best)], view_options(sys.stdout)), sys.stdout)
    path = ceilings.save(machine, best)
    lines = [f"Kept in {path}: {machine_checks.best_of(best)}.", *machine_checks.unusable(best)]
    if is_busy:
        lines.append("The machine was busy. Measure again when it is not: the best of all times is kept.")
    text = "\n".join(["", *(line for sentence in lines for line in _wrapped(sentence, _width())), ""])
    show(text.encode(errors="backslashreplace"), sys.stdout)


def _wrapped(sentence: str, width: int) -> list[str]:
    # Paths stay whole, however long: they are there to be copied.
    return textwrap.wrap(one_line(sentence), width, break_long_words=False, break_on_hyphens=False)


def _paragraph(name: str, sentences: list[str]) -> str:
    lines = [line for text in sentences for line in _wrapped(text, _width() - 12) or [""]]
    labels = [name] + [""] * (len(lines) - 1)
    return "".join(f"{label:11} {line}\n" for label, line in zip(labels, lines, strict=True))


def _width() -> int:
    return max(40, min(view_options(sys.stdout).width, 110))
