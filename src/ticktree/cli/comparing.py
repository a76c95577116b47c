"""What `compare`, `bench` and `check` share: options, and what they refuse to compare."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ticktree.analysis.comparison.compare import Comparison, compare
from ticktree.analysis.comparison.differences import Difference, differences
from ticktree.analysis.comparison.entry import THRESHOLD
from ticktree.cli import options
from ticktree.cli.screen import note
from ticktree.errors import TicktreeError
from ticktree.outputs.comparison import COMPARISONS
from ticktree.profile import Profile
from ticktree.run.merging import program_name

threshold = options.threshold(THRESHOLD)
form = options.form(COMPARISONS)
everything = click.option("--all", "everything", is_flag=True, help="Show every section.")
allow_different = click.option(
    "--allow-different", is_flag=True, help="Compare runs of different machines, libraries or programs."
)


def compared(
    base: Sequence[Profile],
    new: Sequence[Profile],
    threshold: float = THRESHOLD,
    paired: bool = False,
    allowed: bool = False,
) -> tuple[Comparison, list[Difference]]:
    """Return the verdicts on two sides, and in what else these differ; refuse what should not be compared."""
    refuse_experiments(base, new)
    facts = differences(base, new)
    comparison = compare(base, new, threshold=threshold, paired=paired)
    refuse_unlike(facts, allowed)
    _refuse_programs(base, new, comparison, allowed)
    return comparison, facts


def refuse_experiments(*sides: Sequence[Profile]) -> None:
    """Refuse runs of `ticktree whatif`, whose sections were delayed, and those with a remedy of `ticktree try`."""
    if any("experiments" in run.metadata for side in sides for run in side):
        raise TicktreeError(
            "a run of `ticktree whatif` is not a measurement: its threads were delayed on purpose"
        )
    if any("remedies" in run.metadata for side in sides for run in side):
        raise TicktreeError("a run of `ticktree try` with a remedy is not a run of the unchanged program")


def refuse_unlike(facts: Sequence[Difference], allowed: bool) -> None:
    """Refuse sides with a difference, other than the program, that could explain a verdict; print all differences."""
    if not allowed and any(difference.is_ground for difference in facts):
        for difference in facts:
            note(f"{difference.key}: {difference.base or '-'} -> {difference.new or '-'}")
        raise TicktreeError(
            "the sides differ in more than the program (listed above); --allow-different compares them anyway"
        )


def _refuse_programs(
    base: Sequence[Profile], new: Sequence[Profile], compared: Comparison, allowed: bool
) -> None:
    """Print the programs if the sides have different ones; refuse sides of several, or with nothing in common."""
    sides = [sorted({program for run in side if (program := program_name(run))}) for side in (base, new)]
    for which, programs in zip(("base", "new"), sides, strict=True):
        if len(programs) > 1 and not allowed:
            raise TicktreeError(
                f"{which} has runs of different programs: {', '.join(programs)}; name the runs of one, "
                "or give --allow-different to take all as repeats of one"
            )
    if not all(sides) or sides[0] == sides[1]:
        return
    which = f"base is {' and '.join(sides[0])}, new is {' and '.join(sides[1])}"
    if not allowed and all(entry.verdict in ("only in base", "only in new") for entry in compared.entries):
        raise TicktreeError(f"{which}: they have no section in common; --allow-different shows them anyway")
    note(f"Different programs: {which}")
