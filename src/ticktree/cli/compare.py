"""`ticktree compare`: a verdict on each loop and section of two versions of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from ticktree.analysis.comparison.compare import Comparison
from ticktree.cli import comparing, options
from ticktree.cli.files import deliver, format_of, read_repeats, view_for
from ticktree.cli.runs import RUN, CommandOfRuns
from ticktree.errors import TicktreeError
from ticktree.outputs.comparison import COMPARISONS


@click.command("compare", cls=CommandOfRuns, short_help="Compare runs of two versions of a program.")
@click.argument("base", type=RUN)
@click.argument("new", type=RUN, nargs=-1, required=True)
@click.option(
    "--base",
    "more_base",
    metavar="RUN",
    type=RUN,
    multiple=True,
    help="A further run of the base; may be given several times.",
)
@click.option("--pairs", is_flag=True, help="The n-th runs of both sides were measured as a pair.")
@comparing.threshold
@comparing.allow_different
@click.option(
    "--fail-on",
    type=options.WordChoice(["slower", "faster", "inconclusive"]),
    multiple=True,
    help="Exit with status 1 if there is such a verdict; may be given several times.",
)
@comparing.form
@options.output
@options.categories
@comparing.everything
@options.width
def command(
    base: Path,
    new: tuple[Path, ...],
    more_base: tuple[Path, ...],
    pairs: bool,
    threshold: float,
    allow_different: bool,
    fail_on: tuple[str, ...],
    format_name: str | None,
    output: Path | None,
    categories: tuple[str, ...],
    everything: bool,
    width: int | None,
) -> None:
    """Compare runs of two versions of a program, loop by loop and section by section.

    BASE and NEW are runs (paths, names, last or -2), profiles saved as JSON, or Chrome traces. Several NEW are repeats
    of one version, and so are all runs in a directory of runs. Repeats allow a verdict on the programs; with one run
    per side, the verdict is only on these two runs.
    """
    base_runs, new_runs = (read_repeats(paths, categories) for paths in ([base, *more_base], new))
    if pairs and len(base_runs) != len(new_runs):
        raise TicktreeError(
            f"--pairs needs as many base runs as new ones: there are {len(base_runs)} and {len(new_runs)}"
        )
    compared, facts = comparing.compared(base_runs, new_runs, threshold / 100, pairs, allow_different)
    view = replace(view_for(output, width), all=everything)
    deliver(COMPARISONS[format_name or format_of(output, COMPARISONS)](compared, facts, view), output)
    if _has_verdict(compared, fail_on):
        raise SystemExit(1)


def _has_verdict(compared: Comparison, verdicts: Sequence[str]) -> bool:
    """Return whether a verdict is one of these; "inconclusive" counts for loops only: small sections often are."""
    return any(
        entry.verdict in verdicts and (entry.verdict != "inconclusive" or entry.kind == "loop")
        for entry in compared.entries
    )
