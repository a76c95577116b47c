"""`ticktree doctor`: show what can be measured here, how well, and why a profile is empty."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from ticktree.cli import machine_checks, recording_checks
from ticktree.cli.machine_checks import Broken, Problem
from ticktree.cli.measuring import measure as measure_all
from ticktree.cli.measuring import table
from ticktree.cli.runs import RUN, CommandOfRuns
from ticktree.cli.screen import note, progress, show, view_options
from ticktree.errors import one_line
from ticktree.machine import ceilings, processor
from ticktree.machine.ceilings import fingerprint
from ticktree.outputs import terminal
from ticktree.outputs.writing import formatting
from ticktree.run.sweep import finish_abandoned

# Each check by name, with the function that yields its sentences, one per line.
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
    "doctor", cls=CommandOfRuns, short_help="Show what can be measured here, and why a profile is empty."
)
@click.argument("run", type=RUN, required=False)
@click.option(
    "--measure",
    is_flag=True,
    help="Measure what this machine can do at most, keep that for this and later runs, and exit.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print every check, not only problems.")
def command(run: Path | None, measure: bool, verbose: bool) -> None:
    """Examine this machine, this Python, and a run: RUN, or the newest in ./ticktree-runs.

    Prints whether programs can be recorded here, and what makes their numbers doubtful: interruptions, busy or
    limited cores, libraries that could not be instrumented, and if the run is empty, why.

    With -v, also the Python, the clock and the reason for it, the cost of a section, the memory that a run may claim,
    the machine's ceilings, the devices whose time can be measured, and the libraries that are instrumented.
    """
    if measure:
        if run is not None:
            raise click.UsageError("--measure is about the machine and takes no RUN.")
        _measure()
        return
    finish_abandoned()
    sentences_by_check: dict[str, list[str]] = {}
    for name, check in (*_CHECKS, ("run", lambda: recording_checks.newest(run))):
        with progress(f"checking the {name}"):
            sentences_by_check[name] = list(check())
    problems = {
        name: [sentence for sentence in sentences_by_check[name] if isinstance(sentence, Problem)]
        for name in sentences_by_check
    }
    shown: Mapping[str, Sequence[str]] = sentences_by_check if verbose else problems
    if run is not None:
        shown = {**shown, "run": sentences_by_check["run"]}
    lines = _wrapped(_verdict([sentence for group in problems.values() for sentence in group]))
    for name, sentences in shown.items():
        paragraph = [line for text in sentences for line in _wrapped(text, 12) or [""]]
        lines += [f"{'' if at else name:11} {line}" for at, line in enumerate(paragraph)]
    _print(lines if verbose else [*lines, "All checks: ticktree doctor -v"])


def _verdict(problems: Sequence[Problem]) -> str:
    """Return one sentence: whether programs can be recorded, and whether their numbers can be trusted."""
    if any(isinstance(problem, Broken) for problem in problems):
        return "Nothing can be recorded here:"
    if problems:
        return f"Recording works here, with {formatting.counted(len(problems), 'warning')}:"
    return "Recording works here, and no check found a reason to doubt its numbers."


def _measure() -> None:
    """Measure this machine, keep the best of this and earlier measurements, and print it."""
    machine = fingerprint()
    is_busy = os.getloadavg()[0] > processor.usable_cores() / 2
    now = measure_all()
    try:
        earlier = ceilings.load(machine)
    except ceilings.CeilingsError as error:
        note(f"{error}; it is replaced.")
        earlier = None
    best = now if earlier is None else earlier + now
    show(terminal.draw([table(now, best)], view_options(sys.stdout)), sys.stdout)
    path = ceilings.save(machine, best)
    sentences = [f"Kept in {path}: {machine_checks.best_of(best)}.", *machine_checks.unusable(best)]
    if is_busy:
        sentences.append("The machine was busy. Measure again when it is idle: the best measurement is kept.")
    _print(["", *(line for sentence in sentences for line in _wrapped(sentence))])


def _wrapped(sentence: str, margin: int = 0) -> list[str]:
    """Return the lines of a sentence, as wide as the terminal, within limits. Paths, which users copy, are whole."""
    width = max(40, min(view_options(sys.stdout).width, 110)) - margin
    return textwrap.wrap(one_line(sentence), width, break_long_words=False, break_on_hyphens=False)


def _print(lines: Iterable[str]) -> None:
    show("".join(f"{line}\n" for line in lines).encode(errors="backslashreplace"), sys.stdout)
