"""What `compare`, `ab` and `check` share: options, and what they refuse to compare."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ticktree.analysis.comparison import THRESHOLD, Difference
from ticktree.cli import options
from ticktree.cli.screen import note
from ticktree.errors import TicktreeError
from ticktree.outputs.comparison import COMPARISONS

threshold = options.threshold(THRESHOLD)
form = click.option(
    "--format", "format_name", type=click.Choice(list(COMPARISONS)), help="By default terminal."
)
everything = click.option("--all", "everything", is_flag=True, help="Show every section.")
allow_different = click.option(
    "--allow-different", is_flag=True, help="Compare runs of unlike machines or libraries."
)


def refuse_unlike(apart: Sequence[Difference], allowed: bool) -> None:
    """Say what alone may have made one side faster, and go no further.

    Raises:
        TicktreeError: There is such a difference, and it is not allowed.
    """
    grounds = [difference for difference in apart if difference.is_ground]
    if grounds and not allowed:
        for difference in apart:
            note(f"{difference.key}: {difference.base or '-'} -> {difference.new or '-'}")
        raise TicktreeError(
            "the sides differ in more than the program, as said above; --allow-different compares them all the same"
        )
