"""`ticktree export`: a run in the format of another program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import click

from ticktree.cli import options
from ticktree.cli.datasets import write_dataset
from ticktree.cli.diagnosis import why_empty
from ticktree.cli.files import deliver, read, timeline_for
from ticktree.cli.jobs import job_timeline
from ticktree.cli.progress import progress
from ticktree.cli.runs import RUN, CommandOfRuns
from ticktree.cli.screen import note
from ticktree.outputs import EXPORTS, Output, ViewOptions
from ticktree.outputs.options import Only, TableName
from ticktree.outputs.view.headline import losses
from ticktree.profile import Profile
from ticktree.run.abandoned import finish_abandoned

_ALL = "all"


@click.command("export", cls=CommandOfRuns, short_help="A run in another program's format.")
@click.argument("runs", metavar="[RUN]...", type=RUN, nargs=-1)
@click.option(
    "--to", "format_name", type=options.WordChoice(list(EXPORTS)), required=True, help="The format to write."
)
@click.option(
    "--table",
    type=options.WordChoice([*get_args(TableName), _ALL]),
    default="nodes",
    show_default=True,
    help="Which table, of formats whose files hold one; all of them, of parquet, into a directory.",
)
@click.option(
    "--only",
    type=options.WordChoice(get_args(Only)),
    help="Which half, of formats that hold totals and, where the run has a timeline, its single calls.",
)
@options.output
@options.categories
def command(
    runs: tuple[Path, ...],
    format_name: str,
    table: str,
    only: Only | None,
    output: Path | None,
    categories: tuple[str, ...],
) -> None:
    """Write a run in the format of another program, to FILE or to standard output.

    RUN is a run's directory or name, last, -2, a saved profile, a Chrome trace or timers file, or nothing: the newest
    run in ./ticktree-runs. A program that still runs is written as it is at this moment. Several are the runs of one
    job on several machines, of which perfetto and chrome show the timelines together.
    """
    form = EXPORTS[format_name]
    if only is not None and not form.uses_events:
        raise click.UsageError(
            f"--only is of formats that hold both totals and single calls; {form.name} does not."
        )
    if len(runs) > 1:
        _export_job(runs, form, output)
        return
    run = runs[0] if runs else None
    profile = read(run, categories)
    if table == _ALL:
        _export_all(profile, form, run, output)
        return
    timeline = None if only == "totals" else timeline_for(form, run, categories)
    with progress("writing"):
        document = form.render(profile, ViewOptions(table=cast("TableName", table), only=only), timeline)
    reason = why_empty(profile)
    if reason is not None:
        note(f"Nothing was recorded: {reason}.")
    lost = losses(profile)
    if lost and not form.tells_losses and table != "losses":
        note(", ".join(lost))
    deliver(document, output, binary=form.binary)


def _export_all(profile: Profile, form: Output, run: Path | None, output: Path | None) -> None:
    if form.name != "parquet":
        raise click.UsageError(f"--table all is of parquet; {form.name} writes one table.")
    if output is None:
        raise click.UsageError("--table all writes a directory: give it with -o DIR.")
    with progress("writing"):
        write_dataset(output, profile, run)


def _export_job(runs: Sequence[Path], form: Output, output: Path | None) -> None:
    if not form.needs_events:
        able = ", ".join(name for name, each in EXPORTS.items() if each.needs_events)
        raise click.UsageError(
            f"several runs are shown together by {able}; for {form.name}, `ticktree merge` them."
        )
    with progress("reading"):
        finish_abandoned()
        timeline, said = job_timeline(runs)
        profile = Profile().merge(*(read(run) for run in runs))
    for line in said:
        note(line)
    with progress("writing"):
        document = form.render(profile, ViewOptions(), timeline)
    deliver(document, output, binary=form.binary)
