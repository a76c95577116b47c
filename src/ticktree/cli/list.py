"""`ticktree list`: list the runs kept here."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import click

from ticktree.cli.runs import ago
from ticktree.cli.screen import is_terminal, show, view_options
from ticktree.errors import TicktreeError, one_line
from ticktree.run.directory import DEFAULT_OUT, no_run_in
from ticktree.run.finishing import RunDirectory
from ticktree.run.sweep import finish_abandoned


@click.command("list", short_help="List the runs kept here.")
@click.argument("out", type=click.Path(path_type=Path), default=DEFAULT_OUT, metavar="[DIR]")
def command(out: Path) -> None:
    """List the runs in DIR, oldest first. By default, DIR is ./ticktree-runs."""
    finish_abandoned()
    runs, damaged = RunDirectory.list_all(out)
    if not runs and not damaged:
        raise TicktreeError(no_run_in(out))
    rows = [(path.name, "damaged", "", error.reason) for path, error in damaged.items()]
    for run in runs:
        age = ago(time.time() - run.manifest.started_ns / 1e9)
        rows.append((run.path.name, _state(run), age, shlex.join(run.manifest.argv)))
    name_width = max(len(row[0]) for row in rows)
    lines = [
        one_line(f"{name:{name_width}}  {state:8}  {age:>14}  {rest}") for name, state, age, rest in rows
    ]
    if is_terminal(sys.stdout):
        width = view_options(sys.stdout).width
        lines = [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
    show("".join(line + "\n" for line in lines).encode(errors="backslashreplace"), sys.stdout)


def _state(run: RunDirectory) -> str:
    if run.is_live():
        return "running"
    # A run that is still unfinished could not be read: `report` prints why.
    return "finished" if run.is_finished() else "damaged"
