"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ticktree.errors import did_you_mean
from ticktree.run.directory import DEFAULT_OUT

_Command = TypeVar("_Command", bound=Callable[..., Any])


class WordChoice(click.Choice):  # type: ignore[type-arg]
    """One of a few words; the error on another word suggests the closest one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = did_you_mean(str(value), map(str, self.choices))
            raise click.BadParameter(f"{error.message.rstrip('.')}{hint or '.'}", ctx, param) from None


out = click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=DEFAULT_OUT,
    show_default=True,
    help="Directory for the runs.",
)
output = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write to this file; - is standard output.",
)
categories = click.option(
    "--category",
    "categories",
    metavar="NAME",
    multiple=True,
    help="Read events of this category from a Chrome trace, instead of those read by default; may be given several "
    "times.",
)
width = click.option(
    "--width", type=click.IntRange(min=40), metavar="COLUMNS", help="By default, the terminal's width."
)


def threshold(part: float) -> Callable[[_Command], _Command]:
    """Return the option `--threshold`, in percent.

    Args:
        part: The default, as a fraction.
    """
    return click.option(
        "--threshold",
        metavar="PERCENT",
        type=click.FloatRange(min=0, min_open=True),
        default=100 * part,
        show_default=True,
        callback=_finite,
        help="The smallest change that matters.",
    )


def _finite(context: click.Context, option: click.Parameter, value: float) -> float:
    """Refuse infinity and NaN, which no change exceeds."""
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a percentage.", context, option)
    return value
