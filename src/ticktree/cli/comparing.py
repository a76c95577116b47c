"""What `compare`, `ab` and `check` share: options, and what they refuse to compare."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

import click

from ticktree.analysis.comparison import THRESHOLD, Difference
from ticktree.cli.screen import note
from ticktree.errors import TicktreeError
from ticktree.outputs.comparison import COMPARISONS

threshold = click.option(
    "--threshold",
    metavar="PERCENT",
    type=click.FloatRange(min=0, min_open=True),
    default=100 * THRESHOLD,
    show_default=True,
    help="The least shift that matters.",
)
form = click.option(
    "--format", "format_name", type=click.Choice(list(COMPARISONS)), help="By default terminal."
)
_ENDINGS = {".md": "markdown", ".json": "json", ".html": "html", ".png": "png", ".svg": "svg"}
everything = click.option("--all", "everything", is_flag=True, help="Show every section.")
allow_different = click.option(
    "--allow-different", is_flag=True, help="Compare runs of unlike machines or libraries."
)


def format_of(name: str | None, output: Path | None, known: Container[str] = COMPARISONS) -> str:
    """The format that was asked for, else the one whose files end as `output` does, else the terminal's.

    Args:
        name: Of the format; None where none was asked for.
        output: The file it goes to.
        known: The formats that there are.
    """
    ending = _ENDINGS.get("" if output is None else output.suffix.lower(), "terminal")
    return name or (ending if ending in known else "terminal")


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
