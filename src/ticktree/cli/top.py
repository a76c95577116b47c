"""`ticktree top`: watch a run live."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ticktree.cli import options
from ticktree.cli.runs import RUN, CommandOfRuns
from ticktree.cli.screen import is_terminal
from ticktree.cli.summary import why_empty
from ticktree.errors import TicktreeError
from ticktree.loading import find_run
from ticktree.run.helper_process import READER_NICENESS
from ticktree.run.sweep import finish_abandoned

if TYPE_CHECKING:
    from ticktree.live.source import LiveSource

_SECONDS = options.checked(lambda value: 0.1 <= value <= 3600, "{:g} is not between 0.1 and 3600.")


@click.command("top", cls=CommandOfRuns, short_help="Watch a running program live.")
@click.argument("run", type=RUN, required=False)
@click.option(
    "--every",
    type=float,
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    callback=_SECONDS,
    help="How often to read the run.",
)
@click.option(
    "--last",
    type=float,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    callback=_SECONDS,
    help="The period that rates and percentiles cover.",
)
def command(run: Path | None, every: float, last: float) -> None:
    """Watch a run: its tree with rates and percentiles of the last seconds, its loops and its gauges.

    RUN is a run's directory or name, last, -2, or a profile saved as JSON. By default, it is the newest run in
    ./ticktree-runs. top reads the program's memory files from outside and does not disturb it. Press ? for the keys, q
    to quit.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise TicktreeError("top needs a terminal; `ticktree report` prints a run once, anywhere")
    try:
        from ticktree.live.app import Top
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "textual":
            raise
        raise TicktreeError("top needs textual: python -m pip install 'ticktree[top]'") from None
    finish_abandoned()
    source = _source(run)
    with suppress(OSError):
        os.nice(READER_NICENESS)
    Top(source, every, last, why_empty).run()


def _source(path: Path | None) -> LiveSource:
    from ticktree.live.source import RunSource, SavedSource

    if path is None or path.is_dir():
        return RunSource(find_run(path).path)
    return SavedSource(path)
