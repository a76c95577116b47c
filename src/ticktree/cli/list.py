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
from ticktree.run.abandoned import finish_abandoned
from ticktree.run.directory import DEFAULT_OUT, no_run_in
from ticktree.run.finishing import RunDirectory


@click.command("list", short_help="List the runs kept here.")
@click.argument("out", type=click.Path(path_type=Path), default=DEFAULT_OUT, metavar="[DIR]")
def command(out: Path) -> None:
    """List the runs in DIR, oldest first. By default, DIR is ./ticktree-runs."""
    finish_abandoned()
    runs, damaged = RunDirectory.list_all(out)
    if not runs and not damaged:
        raise TicktreeError(no_run_in(out))
    name_width = max(len(path.name) for path in (*(run.path for run in runs), *damaged))
    lines = [
        *(_row(path.name, name_width, "damaged", "", error.reason) for path, error in damaged.items()),
        *(_line(run, name_width) for run in runs),
    ]
    if is_terminal(sys.stdout):
        width = view_options(sys.stdout).width
        lines = [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
    show("".join(line + "\n" for line in lines).encode(errors="backslashreplace"), sys.stdout)


def _line(run: RunDirectory, name_width: int) -> str:
    age = ago(time.time() - run.manifest.started_ns / 1e9)
    command = shlex.join(run.manifest.argv)
    return _row(run.path.name, name_width, _state(run), age, command)


def _row(name: str, name_width: int, state: str, age: str, rest: str) -> str:
    return one_line(f"{name:{name_width}}  {state:8}  {age:>14}  {rest}")


def _state(run: RunDirectory) -> str:
    if run.is_live():
        return "running"
    # A run that is still unfinished could not be read: `report` prints why.
    return "finished" if run.is_finished() else "damaged"
