"""`ticktree history`: show how a program's runs changed over time, and with which commit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ticktree.analysis.history.changes import THRESHOLD
from ticktree.analysis.history.history import Commit, History, history
from ticktree.cli import options
from ticktree.cli.files import deliver, format_of, view_for
from ticktree.cli.screen import note, progress
from ticktree.errors import TicktreeError
from ticktree.history import update_history
from ticktree.machine import git
from ticktree.outputs.history import BINARY_FORMATS, HISTORIES
from ticktree.outputs.history_parts import regression
from ticktree.profile.run_summary import STATISTICS, RunSummary
from ticktree.run.directory import DEFAULT_OUT, no_run_in
from ticktree.run.sweep import finish_abandoned


def _commits(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a name that is not a commit's: the empty string, a prefix of every commit, would accept all of them."""
    for name in names:
        if not re.fullmatch(r"[0-9a-fA-F]{4,}", name):
            raise click.BadParameter(f"{name!r} is not the beginning of a commit's name.")
    return tuple(name.lower() for name in names)


@click.command("history", short_help="Show how a program's runs changed over time, and with which commit.")
@click.argument("out", type=click.Path(path_type=Path), default=DEFAULT_OUT, metavar="[DIR]")
@click.option(
    "--node",
    "nodes",
    metavar="PATH",
    multiple=True,
    help="Draw this loop or section; may be given several times.",
)
@click.option(
    "--of",
    "statistic",
    type=options.WordChoice(STATISTICS),
    default="mean",
    show_default=True,
    help="The statistic of a section's calls to show per run.",
)
@click.option("--name", metavar="NAME", help="Show only runs of this name.")
@click.option(
    "--any-arguments", is_flag=True, help="Put runs with different arguments of the program into one series."
)
@click.option(
    "--last", type=click.IntRange(min=1), metavar="N", help="Show only the last N runs of each series."
)
@options.threshold(THRESHOLD)
@click.option(
    "--fail-on",
    type=options.WordChoice(["regression"]),
    help="Exit with status 1 if something became slower, still is, and was not accepted.",
)
@click.option(
    "--accept",
    "accepted",
    metavar="COMMIT",
    multiple=True,
    callback=_commits,
    help="Accept the changes of this commit; may be given several times.",
)
@options.form(HISTORIES)
@options.output
@click.option(
    "--all", "everything", is_flag=True, help="Show every section, and machines that were replaced."
)
@options.width
def command(
    out: Path,
    name: str | None,
    threshold: float,
    fail_on: str | None,
    format_name: str | None,
    output: Path | None,
    everything: bool,
    width: int | None,
    **history_options: Any,
) -> None:
    """Show how the runs in DIR (by default ./ticktree-runs) changed over time, and with which commit.

    Runs stay in the history after their directories are deleted. Only runs of one program with the same arguments, on
    similar machines, are compared.
    """
    trends = history(_runs(out, name), threshold=threshold / 100, everything=everything, **history_options)
    trends = replace(trends, commits=commits_of(trends, Path()))
    view = replace(view_for(output, width), all=everything)
    form = format_name or format_of(output, HISTORIES)
    deliver(HISTORIES[form](trends, view), output, binary=form in BINARY_FORMATS)
    if fail_on and trends.regressions:
        _print_regressions(trends)
        raise SystemExit(1)


def _runs(out: Path, name: str | None) -> Sequence[RunSummary]:
    if not out.is_dir():
        raise TicktreeError(no_run_in(out))
    with progress("reading"):
        finish_abandoned()
        stored = update_history(out)
    for folder, reason in sorted(stored.unreadable.items()):
        note(f"Not in the history: {folder}: {reason}")
    if stored.unwritten:
        note(f"Not kept for later: {stored.unwritten}")
    runs = [run for run in stored.runs if name is None or run.facts.get("name") == name]
    if not runs:
        raise TicktreeError(no_run_in(out, name))
    return runs


def _print_regressions(history: History) -> None:
    for series, trend in history.regressions:
        for point in trend.regressions:
            hint = f"; to accept it: --accept {point.run.commit[:9]}" if point.run.commit else ""
            note(f"regression: {regression(series, trend, point)}{hint}")


_NAME = re.compile(r"[0-9a-f]{7,64}")
# The most commits to look up: git takes milliseconds for each.
_MOST_COMMITS = 100


def commits_of(history: History, folder: Path) -> dict[str, Commit]:
    """Return the commits at which a section changed, if `folder` is in their repository."""
    pairs = {
        point.run.commit: point.last.commit
        for entry in history.series
        for trend in entry.trends
        for point in trend.change_points
        if _NAME.fullmatch(point.run.commit)
    }
    commits = {}
    for commit, before in list(pairs.items())[:_MOST_COMMITS]:
        subject = git.run_git(folder, "log", "-1", "--format=%s", commit, "--")
        if subject is not None:
            commits[commit] = Commit(subject.strip(), _after(folder, before, commit))
    return commits


def _after(folder: Path, before: str, commit: str) -> int | None:
    if not _NAME.fullmatch(before):
        return None
    count = git.run_git(folder, "rev-list", "--count", f"{before}..{commit}", "--")
    return int(count) if count is not None and count.strip().isdigit() else None
