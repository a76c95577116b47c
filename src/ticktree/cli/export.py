"""`ticktree export`: a run in the format of another program."""

from __future__ import annotations

from pathlib import Path

import click

from ticktree.cli import options
from ticktree.cli.diagnosis import why_empty
from ticktree.cli.files import deliver, read, read_timeline
from ticktree.cli.screen import note
from ticktree.outputs import EXPORTS


@click.command("export", short_help="A run in another program's format.")
@click.argument("run", type=click.Path(path_type=Path), required=False)
@click.option(
    "--to", "format_name", type=click.Choice(list(EXPORTS)), required=True, help="The format to write."
)
@options.output
def command(run: Path | None, format_name: str, output: Path | None) -> None:
    """Write a run in the format of another program, to FILE or to standard output.

    RUN is a run's directory, a saved profile or timers file, or nothing: the newest run in ./ticktree-runs. A
    program that still runs is written as it is at this moment.
    """
    profile = read(run)
    form = EXPORTS[format_name]
    document = form.render(profile, timeline=read_timeline(run) if form.needs_events else None)
    reason = why_empty(profile)
    if reason is not None:
        note(f"Nothing was recorded: {reason}.")
    deliver(document, output, binary=form.binary)
