"""Options that several commands share, and mean the same in each."""

from __future__ import annotations

from pathlib import Path

import click

from ticktree.run.directory import DEFAULT_OUT

out = click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=DEFAULT_OUT,
    show_default=True,
    help="Where runs are kept.",
)
output = click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it there; - prints it."
)
categories = click.option(
    "--category",
    "categories",
    metavar="NAME",
    multiple=True,
    help="Of a Chrome trace, read the events of this category instead; may be given several times.",
)
width = click.option(
    "--width", type=click.IntRange(min=40), metavar="COLUMNS", help="By default the terminal's."
)
