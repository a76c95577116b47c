"""The options of `ticktree run` that publish totals while the program runs, and the publisher that they select."""

from __future__ import annotations

import math
import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ticktree.cli.options import pack_options
from ticktree.cli.screen import show_at_once
from ticktree.errors import TicktreeError, one_line

if TYPE_CHECKING:
    from ticktree.publishing.publisher import Publisher

EVERY_S = 10.0
_LEAST_S = 0.1
_UNITS_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+) ?([a-z]*)")


def _duration_s(text: str) -> float:
    """Return the seconds of a time such as `10s`, `500ms`, `2m` or `10` (seconds)."""
    match = _DURATION.fullmatch(text.strip().lower())
    seconds = float(match[1]) * _UNITS_S.get(match[2], math.nan) if match else math.nan
    if not _LEAST_S <= seconds <= 24 * 3600:
        raise ValueError(f"{text} is not a time such as 10s, 500ms or 2m, from {_LEAST_S:g} s to a day.")
    return seconds


def _every(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    try:
        return None if text is None else _duration_s(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_OPTIONS = (
    click.option(
        "--otlp",
        metavar="URL",
        help="Send totals to this OpenTelemetry collector while the program runs, over HTTP; `env` takes the URL "
        "from the variable OTEL_EXPORTER_OTLP_ENDPOINT.",
    ),
    click.option(
        "--every",
        metavar="TIME",
        callback=_every,
        help=f"How often --otlp sends: 10s, 500ms, 2m.  [default: {EVERY_S:g}s]",
    ),
    click.option(
        "--prometheus",
        metavar="[HOST:]PORT",
        help="Serve totals to Prometheus at this port, at /metrics, while the program runs; only to this machine "
        "unless HOST is given. Port 0 picks a free port.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """Where to publish, as `_OPTIONS` describe it; without arguments, nowhere. `every` is in seconds."""

    otlp: str | None = None
    every: float | None = None
    prometheus: str | None = None

    def check(self, quiet: bool) -> None:
        """Raise a UsageError if the options do not fit together."""
        if quiet and (self.prometheus or "").rpartition(":")[2] == "0":
            raise click.UsageError("--quiet cannot print which port was free: give a port.")
        if self.every is not None and self.otlp is None:
            raise click.UsageError("--every needs --otlp; Prometheus itself decides how often it reads.")

    def publisher(self) -> Publisher | None:
        """Open the port and read the variables, so that errors occur before the program starts."""
        if self.otlp is None and self.prometheus is None:
            return None
        from ticktree.publishing.otlp_destination import Destination
        from ticktree.publishing.publisher import Listener, Publisher

        every_s = _interval_s() if self.every is None else self.every
        destination = None if self.otlp is None else Destination.of(self.otlp, os.environ)
        door = None if self.prometheus is None else Listener(self.prometheus)
        return Publisher(destination, every_s, door, os.environ, _say)


def _interval_s() -> float:
    text = os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "").strip()
    try:
        return _duration_s(f"{text}ms") if text else EVERY_S
    except ValueError:
        raise TicktreeError(f"OTEL_METRIC_EXPORT_INTERVAL={text!r} is not a number of milliseconds") from None


options = pack_options("published", Publishing, _OPTIONS)


def _say(sentence: str) -> None:
    """Print a sentence on standard error while a program writes there, without waiting for a reader."""
    show_at_once(f"ticktree: {one_line(sentence)}\n".encode(errors="backslashreplace"), sys.stderr)
