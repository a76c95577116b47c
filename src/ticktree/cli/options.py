"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias

import click

from ticktree.errors import did_you_mean
from ticktree.run.directory import DEFAULT_OUT
from ticktree.supervisor.program import Program

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class WordChoice(click.Choice):  # type: ignore[type-arg]
    """One of a few words; the error on another word suggests the closest one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = did_you_mean(str(value), map(str, self.choices))
            raise click.BadParameter(f"{error.message.rstrip('.')}{hint or '.'}", ctx, param) from None


def checked(is_good: Callable[[float], bool], refusal: str) -> Callable[..., float | None]:
    """Return the callback of an option that refuses numbers, such as NaN, which click's ranges accept.

    Args:
        is_good: Whether a number is allowed.
        refusal: The message, with braces for the number.
    """

    def check(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
        if value is not None and not is_good(value):
            raise click.BadParameter(refusal.format(value))
        return value

    return check


def pack_options(name: str, make: Callable[..., Any], options: Sequence[Decorator]) -> Decorator:
    """Return a decorator that adds options to a command, which gets them as the one argument `name`.

    Args:
        name: Of the argument.
        make: Makes it; has a parameter for each option.
        options: In the order of the help.
    """
    names = list(signature(make).parameters)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        def packing(**values: Any) -> Any:
            fields = {option_name: values.pop(option_name) for option_name in names}
            return command(**values, **{name: make(**fields)})

        decorated: Callable[..., Any] = wraps(command)(packing)
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


# For commands that run a program: what follows its name is the program's.
PROGRAM_LAST = {"allow_interspersed_args": False}
program = pack_options(
    "program",
    Program.named,
    (
        click.option("-m", "is_module", is_flag=True, help="Run a module, like python -m."),
        click.argument("target", metavar="SCRIPT|MODULE"),
        click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]..."),
    ),
)
name = click.option("--name", metavar="NAME", help="Name of the run. By default, the program's.")
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


def form(names: Iterable[str], about: str = "By default, terminal.") -> Decorator:
    """Return the option `--format`, with the names of the formats."""
    return click.option("--format", "format_name", type=WordChoice(list(names)), help=about)


def threshold(part: float) -> Decorator:
    """Return the option `--threshold`, in percent; `part` is the default, as a fraction."""
    return click.option(
        "--threshold",
        metavar="PERCENT",
        type=click.FloatRange(min=0, min_open=True),
        default=100 * part,
        show_default=True,
        callback=checked(math.isfinite, "{} is not a percentage."),
        help="The smallest change that matters.",
    )
