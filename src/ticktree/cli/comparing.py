"""What `compare`, `bench` and `check` share: options, and what they refuse to compare."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ticktree.analysis.comparison.compare import Comparison
from ticktree.analysis.comparison.differences import Difference
from ticktree.analysis.comparison.entry import THRESHOLD
from ticktree.cli import options
from ticktree.cli.screen import note
from ticktree.errors import TicktreeError
from ticktree.outputs.comparison import COMPARISONS
from ticktree.profile import Profile
from ticktree.run.merging import program_of

threshold = options.threshold(THRESHOLD)
form = click.option(
    "--format", "format_name", type=options.WordChoice(list(COMPARISONS)), help="By default, terminal."
)
everything = click.option("--all", "everything", is_flag=True, help="Show every section.")
allow_different = click.option(
    "--allow-different", is_flag=True, help="Compare runs of different machines, libraries or programs."
)


def refuse_experiments(*sides: Sequence[Profile]) -> None:
    """Refuse runs of `ticktree whatif`, whose sections were delayed, and those with a remedy of `ticktree try`.

    Raises:
        TicktreeError: There is such a run.
    """
    if any("experiments" in run.metadata for side in sides for run in side):
        raise TicktreeError(
            "a run of `ticktree whatif` is not a measurement: its threads were delayed on purpose"
        )
    if any("remedies" in run.metadata for side in sides for run in side):
        raise TicktreeError("a run of `ticktree try` with a remedy is not a run of the unchanged program")


def refuse_unlike(facts: Sequence[Difference], allowed: bool) -> None:
    """Refuse sides with a difference, other than the program, that could explain a verdict; print all differences.

    Raises:
        TicktreeError: There is such a difference, and it is not allowed.
    """
    grounds = [difference for difference in facts if difference.is_ground]
    if grounds and not allowed:
        for difference in facts:
            note(f"{difference.key}: {difference.base or '-'} -> {difference.new or '-'}")
        raise TicktreeError(
            "the sides differ in more than the program (listed above); --allow-different compares them anyway"
        )


def refuse_programs(
    base: Sequence[Profile], new: Sequence[Profile], compared: Comparison, allowed: bool
) -> None:
    """Print the programs if the sides have different ones, and refuse sides that have nothing to compare.

    Raises:
        TicktreeError: The repeats of one side are of several programs, or the two sides have no section in common,
            and that is not allowed.
    """
    sides = [sorted({program for run in side if (program := program_of(run))}) for side in (base, new)]
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
