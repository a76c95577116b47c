"""`ticktree doctor`: what can be measured here, how well, and why a profile is empty."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from ticktree.cli.checks import clock, cores, cost, memory, newest, noise, recording
from ticktree.cli.progress import progress
from ticktree.cli.screen import one_line, show, view_options
from ticktree.run.abandoned import finish_abandoned

# What is found out, and a function that says it: a sentence a line.
_CHECKS: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
    ("clock", clock.check),
    ("section", cost.check),
    ("memory", memory.check),
    ("cores", cores.check),
    ("noise", noise.check),
    ("recording", recording.check),
)


@click.command("doctor", short_help="What can be measured here, and why a profile is empty.")
@click.argument("run", type=click.Path(path_type=Path), required=False)
def command(run: Path | None) -> None:
    """Examine this machine and this Python, and a run: RUN, or the newest in ./ticktree-runs.

    Says which clock is used and why, what a section costs, how much memory a run may claim, how many cores
    there are, how often this machine interrupts what runs on it, whether a program is recorded at all, and
    if the run is empty, why.
    """
    finish_abandoned()
    for name, check in (*_CHECKS, ("run", lambda: newest.check(run))):
        with progress(f"looking at the {name}"):
            found = list(check())
        show(_paragraph(name, found).encode(errors="backslashreplace"), sys.stdout)


def _paragraph(name: str, sentences: list[str]) -> str:
    width = max(40, min(view_options(sys.stdout).width, 110))
    lines = [line for text in sentences for line in textwrap.wrap(one_line(text), width - 12) or [""]]
    labels = [name] + [""] * (len(lines) - 1)
    return "".join(f"{label:11} {line}\n" for label, line in zip(labels, lines, strict=True))
