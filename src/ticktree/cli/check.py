"""`ticktree check`: check a run against its budgets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from ticktree.analysis.budgets.check import CheckReport, check
from ticktree.analysis.budgets.plan import Plan, budget_of, slower_of
from ticktree.analysis.comparison.differences import Difference, differences
from ticktree.cli import comparing, options
from ticktree.cli.files import deliver, read, read_repeats, view_for
from ticktree.cli.runs import RUN, CommandOfRuns
from ticktree.cli.screen import note
from ticktree.configuration import budgets, configuration, configuration_in
from ticktree.errors import TicktreeError
from ticktree.outputs import ViewOptions
from ticktree.outputs.budgets import CHECKS, result_line
from ticktree.outputs.writing import formatting

# The variable with the name of the file that GitHub Actions shows on a job's page.
_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


@click.command("check", cls=CommandOfRuns, short_help="Check a run against its budgets.")
@click.argument("runs", metavar="[RUN]...", type=RUN, nargs=-1)
@click.option(
    "--budget",
    "more",
    metavar="BUDGET",
    multiple=True,
    help="One more budget, such as 'control/act p99 <= 25 ms'; may be given several times.",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="By default, the nearest pyproject.toml with a [tool.ticktree] table.",
)
@click.option("--baseline", metavar="RUN", type=RUN, help="Fail if slower than this run.")
@click.option(
    "--slower", metavar="PERCENT", help="How much slower than the baseline is allowed. By default, 5%."
)
@comparing.allow_different
@click.option(
    "--fail-on",
    type=options.WordChoice(["inconclusive"]),
    multiple=True,
    help="Exit with status 1 for this verdict as well.",
)
@click.option(
    "--format", "format_name", type=options.WordChoice(list(CHECKS)), default="terminal", show_default=True
)
@options.output
@click.option("--github", is_flag=True, help=f"Append the markdown to the file that ${_STEP_SUMMARY} names.")
@click.option("--all", "everything", is_flag=True, help="Show every section that has a baseline.")
@options.width
def command(
    runs: tuple[Path, ...],
    more: tuple[str, ...],
    config: Path | None,
    baseline: Path | None,
    slower: str | None,
    allow_different: bool,
    fail_on: tuple[str, ...],
    format_name: str,
    output: Path | None,
    github: bool,
    everything: bool,
    width: int | None,
) -> None:
    """Check the budgets of [tool.ticktree.budgets] in pyproject.toml, and say which fail.

    RUN is a run's directory or name, last, -2, a profile saved as JSON, or nothing: the newest run. Several are
    repeats of one program: their calls count together. Exit status 1 if a budget fails, 2 if one could not be
    measured.
    """
    plan = _plan(config)
    plan = replace(
        plan,
        budgets=(*plan.budgets, *map(budget_of, more)),
        baseline=plan.baseline if baseline is None else str(baseline),
        slower=plan.slower if slower is None else slower_of(_percent(slower), "--slower"),
        allow_different=plan.allow_different or allow_different,
    )
    if plan.is_empty:
        raise TicktreeError(
            "there is nothing to check: no [tool.ticktree.budgets], no --budget and no --baseline"
        )
    new = [read(None)] if not runs else read_repeats(runs)
    base = read_repeats([Path(plan.baseline)]) if plan.baseline else []
    comparing.refuse_experiments(base, new)
    facts = differences(base, new) if base else []
    checked = check(new, plan, base)
    comparing.refuse_unlike(facts, plan.allow_different)
    view = replace(view_for(output, width), all=everything)
    deliver(CHECKS[format_name](checked, facts, view), output)
    if github:
        _add_to_step_summary(checked, facts, view)
    _end(checked, fail_on, is_shown=output is None and format_name != "json")


def _plan(config: Path | None) -> Plan:
    table = configuration() if config is None else configuration_in(config)
    plan = budgets(table)
    if not plan.baseline or table.path is None:
        return plan
    # A path in the file is relative to the file, not to the working directory.
    return replace(plan, baseline=str(table.path.parent / plan.baseline))


def _percent(text: str) -> str:
    """Return `text` with a percent sign: a bare number is a percentage, as for `compare --threshold`."""
    return text if text.rstrip().endswith("%") else f"{text}%"


def _add_to_step_summary(checked: CheckReport, facts: Sequence[Difference], view: ViewOptions) -> None:
    name = os.environ.get(_STEP_SUMMARY)
    if not name:
        raise TicktreeError(f"--github writes to the file that ${_STEP_SUMMARY} names, which is not set")
    try:
        with Path(name).open("ab") as file:
            file.write(CHECKS["markdown"](checked, facts, view) + b"\n")
    except OSError as error:
        raise TicktreeError(f"cannot write {name}: {error.strerror}") from None


def _end(checked: CheckReport, fail_on: Sequence[str], *, is_shown: bool) -> None:
    """Exit with the status of all budgets; name those that did not pass where no table was printed."""
    bad = checked.of("fail") + (checked.of("inconclusive") if "inconclusive" in fail_on else [])
    missing = checked.of("not measured")
    if not is_shown:
        for result in (*bad, *missing):
            note(f"{formatting.verdict(result.status)}: {result_line(result)}")
    if bad or missing:
        raise SystemExit(1 if bad else 2)
