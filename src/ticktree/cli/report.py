"""`ticktree report`: show a run, in any of the output formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from ticktree.analysis.workers.roles import By
from ticktree.cli import options
from ticktree.cli.files import deliver, format_of, read, run_words, timeline_for, view_for
from ticktree.cli.runs import RUN, CommandOfRuns
from ticktree.cli.screen import progress
from ticktree.cli.summary import note_if_empty, settings_here
from ticktree.errors import TicktreeError
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.variants import VARIANTS, variants


@click.command(
    "report", cls=CommandOfRuns, short_help="Show a run: loops, tree, bottlenecks and recommendations."
)
@click.argument("runs", metavar="[RUN]...", type=RUN, nargs=-1)
@options.form(
    OUTPUTS,
    "By default, the format of FILE's suffix, else terminal. agent is JSON of at most 2,000 tokens for coding agents.",
)
@options.output
@options.categories
@click.option("--all", "everything", is_flag=True, help="Show every row, loop and finding.")
@click.option(
    "--by",
    type=options.WordChoice(["process", "thread", "role"]),
    help="Show one column per process, thread or role; of many, min, median, max and the slowest.",
)
@click.option("--call-sites", is_flag=True, help="Show where sections are entered.")
@options.width
def command(
    runs: tuple[Path, ...],
    format_name: str | None,
    output: Path | None,
    categories: tuple[str, ...],
    everything: bool,
    by: By | None,
    call_sites: bool,
    width: int | None,
) -> None:
    """Show a run: where its time went, its loops and gauges, and recommendations.

    RUN is a run's directory, its name as `ticktree list` prints it (or the beginning of the name), last, -2 for the
    one before, a profile saved as JSON, a Chrome trace, or a timers file of the ML-Agents toolkit. By default, it is
    the newest run in ./ticktree-runs. A running program is shown as it is now. Several RUN are shown side by side, as
    variants of a program.
    """
    view = replace(view_for(output, width), all=everything, settings=settings_here())
    if len(runs) > 1:
        _side_by_side(runs, categories, format_name or format_of(output), by, view, output)
        return
    run = runs[0] if runs else None
    profile = read(run, categories)
    if by is not None and not profile.threads:
        raise TicktreeError(f"this profile has no times by {by}: an older ticktree made it")
    view = replace(view, by=by, call_sites=call_sites, run="" if run is None else run_words(run))
    form = OUTPUTS[format_name or format_of(output)]
    timeline = timeline_for(form, run, categories)
    with progress("drawing"):
        document = form.render(profile, view, timeline)
    note_if_empty(profile)
    deliver(document, output, binary=form.binary)


def _side_by_side(
    runs: Sequence[Path],
    categories: Sequence[str],
    format_name: str,
    by: By | None,
    view: ViewOptions,
    output: Path | None,
) -> None:
    if format_name not in VARIANTS:
        able = ", ".join(VARIANTS)
        raise TicktreeError(f"{format_name} shows one run; to show several side by side, use {able}")
    if by is not None:
        raise TicktreeError("--by is for one run: several runs already have one column each")
    profiles = [(path.stem if path.is_file() else path.name, read(path, categories)) for path in runs]
    deliver(VARIANTS[format_name](variants(profiles, view), view), output)
