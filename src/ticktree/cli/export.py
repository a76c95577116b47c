"""`ticktree export`: write a run in the format of another program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import click

from ticktree.analysis.offsets import Offset, offset
from ticktree.cli import options
from ticktree.cli.files import deliver, read, timeline_for
from ticktree.cli.query import write_dataset
from ticktree.cli.runs import RUN, CommandOfRuns
from ticktree.cli.screen import note, progress
from ticktree.cli.summary import note_if_empty
from ticktree.errors import TicktreeError
from ticktree.loading import find_run
from ticktree.outputs import EXPORTS, Output, ViewOptions
from ticktree.outputs.options import ExportPart, TableName
from ticktree.outputs.view.headline import losses
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline, merge_timelines
from ticktree.run.finishing import RunDirectory
from ticktree.run.sweep import finish_abandoned


@click.command("export", cls=CommandOfRuns, short_help="Write a run in another program's format.")
@click.argument("runs", metavar="[RUN]...", type=RUN, nargs=-1)
@click.option(
    "--to", "format_name", type=options.WordChoice(list(EXPORTS)), required=True, help="The format to write."
)
@click.option(
    "--table",
    type=options.WordChoice([*get_args(TableName), "all"]),
    default="nodes",
    show_default=True,
    help="The table to write, for formats with one table per file. For parquet, `all` writes all tables into a "
    "directory.",
)
@click.option(
    "--only",
    type=options.WordChoice(get_args(ExportPart)),
    help="Write only this half of formats that hold both the totals and the single calls of a timeline.",
)
@options.output
@options.categories
def command(
    runs: tuple[Path, ...],
    format_name: str,
    table: str,
    only: ExportPart | None,
    output: Path | None,
    categories: tuple[str, ...],
) -> None:
    """Write a run in the format of another program, to FILE or to standard output.

    RUN is a run's directory or name, last, -2, a saved profile, a Chrome trace or a timers file. By default, it is the
    newest run in ./ticktree-runs. A running program is written as it is now. Several RUN are the runs of one job on
    several machines; perfetto and chrome show their timelines together.
    """
    form = EXPORTS[format_name]
    if only is not None and not form.uses_events:
        raise click.UsageError(
            f"--only is for formats that hold both totals and single calls; {form.name} does not."
        )
    if len(runs) > 1:
        _export_job(runs, form, output)
        return
    run = runs[0] if runs else None
    profile = read(run, categories)
    if table == "all":
        _export_all(profile, form, run, output)
        return
    timeline = None if only == "totals" else timeline_for(form, run, categories)
    with progress("writing"):
        document = form.render(profile, ViewOptions(table=cast("TableName", table), only=only), timeline)
    note_if_empty(profile)
    lost = losses(profile)
    if lost and not form.tells_losses and table != "losses":
        note(", ".join(lost))
    deliver(document, output, binary=form.binary)


def _export_all(profile: Profile, form: Output, run: Path | None, output: Path | None) -> None:
    if form.name != "parquet":
        raise click.UsageError(f"--table all is for parquet; {form.name} writes one table.")
    if output is None:
        raise click.UsageError("--table all writes a directory: name it with -o DIR.")
    with progress("writing"):
        write_dataset(output, profile, run)


def _export_job(runs: Sequence[Path], form: Output, output: Path | None) -> None:
    if not form.needs_events:
        able = ", ".join(name for name, exporter in EXPORTS.items() if exporter.needs_events)
        raise click.UsageError(
            f"{able} show several runs together; for {form.name}, merge them with `ticktree merge`."
        )
    with progress("reading"):
        finish_abandoned()
        timeline, alignments = _job_timeline(runs)
        profile = Profile().merge(*(read(run) for run in runs))
    for line in alignments:
        note(line)
    with progress("writing"):
        document = form.render(profile, ViewOptions(), timeline)
    deliver(document, output, binary=form.binary)


def _job_timeline(paths: Sequence[Path]) -> tuple[Timeline, list[str]]:
    """Return the timelines of a job's runs as one, on the clock of the first, and a line on each run's alignment.

    A run whose clock offset is unknown begins where the first does, and its line says so.
    """
    runs = [find_run(path) for path in paths]
    parts = [_timeline(run) for run in runs]
    offsets = [Offset(0, 0, 0), *(offset(part, parts[0]) for part in parts[1:])]
    first_ns = min(clock_offset.ns if clock_offset else 0 for clock_offset in offsets)
    timelines, alignments = [], []
    for number, (run, part, clock_offset) in enumerate(zip(runs, parts, offsets, strict=True)):
        words = _alignment(clock_offset) if number else "the clock of this timeline"
        alignments.append(f"{_host(run)}: {words}")
        timelines.append(
            _shifted_timeline(
                part, number, f"{_host(run)}, {words}", (clock_offset.ns if clock_offset else 0) - first_ns
            )
        )
    return merge_timelines(timelines), alignments


def _timeline(run: RunDirectory) -> Timeline:
    timeline = run.timeline()
    if timeline is None:
        raise TicktreeError(f"{run.path} has no timeline: `ticktree run --timeline` records one")
    return timeline


def _host(run: RunDirectory) -> str:
    return f"{run.manifest.metadata.get('host') or 'a machine'} ({run.path.name})"


def _alignment(clock_offset: Offset | None) -> str:
    if clock_offset is None:
        return "its own clock: not aligned"
    sign = "-" if clock_offset.ns < 0 else "+"
    return f"clock {sign}{formatting.time(abs(clock_offset.ns))} ± {formatting.time(clock_offset.bound_ns)} at most"


def _shifted_timeline(part: Timeline, number: int, machine: str, shift_ns: int) -> Timeline:
    """Return one run's timeline, shifted, with its lanes named after its machine."""
    lanes = tuple(
        lane._replace(process=f"{lane.process}@{number}", process_name=f"{lane.process_name} on {machine}")
        for lane in part.lanes
    )
    # The wall clock of the whole is that of the first run.
    wall = part.began_wall_ns - shift_ns if number == 0 and part.began_wall_ns is not None else None
    return replace(part, lanes=lanes, start_ns=part.start_ns + shift_ns, began_wall_ns=wall)
