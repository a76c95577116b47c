"""What `compare` and `ab` share: their options."""

from __future__ import annotations

import click

from ticktree.analysis.comparison import THRESHOLD
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
    "--format", "format_name", type=click.Choice(list(COMPARISONS)), default="terminal", show_default=True
)
everything = click.option("--all", "everything", is_flag=True, help="Show every section.")
