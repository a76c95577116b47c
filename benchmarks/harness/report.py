"""Figures with their targets, printed as one table for people or one JSON document for programs.

A benchmark reports; it never fails for being slow. How fast this machine is today is no property of the code,
so a missed target is a word in a column, and the exit status stays 0.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.spread import Spread

PIPED_WIDTH = 160  # columns, where no terminal says how many there are
WORDS = ("name", "verdict", "note")  # columns of words: aligned left, wrapped, and without a heading
STYLES = {"met": "green", "missed": "red", "absent": "dim"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured line of the table.

    Attributes:
        name: what was measured.
        value: the figure, in `unit`.
        unit: "x" for a ratio, otherwise its name.
        low: a quarter of the repeats lie below; None where the figure is not a median of repeats.
        high: a quarter of the repeats lie above.
        repeats: how many repeats or samples stand behind the figure.
        target: the upper limit; None where there is none.
        also: further figures of the same line; a key names its unit.
        note: what a reader must know to read it fairly.
    """

    name: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    repeats: int | None = None
    target: float | None = None
    also: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def of_spread(
        cls,
        name: str,
        spread: Spread,
        unit: str,
        *,
        target: float | None = None,
        also: Mapping[str, float] | None = None,
        note: str = "",
    ) -> Figure:
        """The median of repeats, with its middle half."""
        middle = (spread.median, unit, spread.low, spread.high, spread.repeats)
        return cls(name, *middle, target, also or {}, note)

    @property
    def verdict(self) -> str | None:
        """Whether the target is met; None where there is none.

        Sizes count: too far below zero is a miss too.
        """
        if self.target is None:
            return None
        return "met" if abs(self.value) <= self.target else "missed"

    def cells(self) -> dict[str, str]:
        """What the table shows of it, by column."""
        cells = {"name": self.name, "figure": f"{digits(self.value)} {self.unit}"}
        if self.low is not None and self.high is not None:
            cells["middle half"] = f"{digits(self.low)} to {digits(self.high)}"
        cells |= {key: digits(value) for key, value in self.also.items()}
        if self.repeats is not None:
            cells["repeats"] = digits(self.repeats)
        if self.target is not None:
            cells["target"] = digits(self.target)
        return cells | {"verdict": self.verdict or "", "note": self.note}


@dataclass(frozen=True, slots=True)
class Absent:
    """A line that could not be measured here, and why."""

    name: str
    reason: str

    def cells(self) -> dict[str, str]:
        """What the table shows of it, by column."""
        return {"name": self.name, "figure": "absent", "note": self.reason}


@dataclass(frozen=True, slots=True)
class Report:
    """What one benchmark found.

    Attributes:
        benchmark: its name.
        title: what the figures are, in one line.
        lines: figures and what is absent, in the order to print.
    """

    benchmark: str
    title: str
    lines: Sequence[Figure | Absent]

    def print(self, *, as_json: bool) -> None:
        """To standard output."""
        if as_json:
            print(self.to_json())
            return
        console = Console()
        if not console.is_terminal:
            console = Console(width=PIPED_WIDTH)
        console.print(Text(self.title, style="bold"))
        console.print(self.table())
        facts = "; ".join(f"{key} {value}" for key, value in machine().items())
        console.print(Text(facts, style="dim"))

    def to_json(self) -> str:
        """Everything, numbers unrounded."""
        figures = [line for line in self.lines if isinstance(line, Figure)]
        absent = [line for line in self.lines if isinstance(line, Absent)]
        return json.dumps(
            {
                "benchmark": self.benchmark,
                "title": self.title,
                "machine": machine(),
                "figures": [asdict(figure) | {"verdict": figure.verdict} for figure in figures],
                "absent": [asdict(line) for line in absent],
            },
            indent=2,
        )

    def table(self) -> Table:
        """One row a line, in the columns that some line has; the fullest line orders them."""
        rows = [line.cells() for line in self.lines]
        columns = dict.fromkeys(column for row in sorted(rows, key=len, reverse=True) for column in row)
        table = Table(box=None, pad_edge=False)
        for column in columns:
            if column in WORDS:
                table.add_column("")
            else:
                table.add_column(column, justify="right", no_wrap=True)
        for row in rows:
            texts = (row.get(column, "") for column in columns)
            table.add_row(*(Text(text, style=STYLES.get(text, "")) for text in texts))
        return table


def digits(value: float) -> str:
    """Three significant digits, one more next to 1, and whole numbers whole."""
    size = abs(value)
    if isinstance(value, int) or size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.3f}" if 0.995 <= size < 1.1 else f"{value:.2f}"


def machine() -> dict[str, str]:
    """What the figures depend on without showing it."""
    return {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "ticktree": version("ticktree"),
        "Processor": f"{processor()}, {os.cpu_count()} cores",
        "System": f"{platform.system()} {platform.machine()}",
    }


def version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed as a package"


def processor() -> str:
    """The processor's name where the system reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def options(description: str | None) -> argparse.ArgumentParser:
    """The two options that every benchmark has; it may add its own."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats: seconds instead of minutes")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, no table")
    return parser


def progress(message: str) -> None:
    """Prints on standard error what takes long, if that is a terminal."""
    if sys.stderr.isatty():
        print(message, file=sys.stderr)
