"""`ticktree query`: query a run with SQL."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ticktree.cli import options
from ticktree.cli.datasets import FORMATS, Database, is_dataset, write_dataset
from ticktree.cli.files import deliver, read
from ticktree.cli.runs import CommandOfRuns, run_named
from ticktree.cli.screen import note, progress, show
from ticktree.outputs.registry import wanted


@click.command("query", cls=CommandOfRuns, short_help="Query a run with SQL.")
@click.argument("words", metavar="[RUN] SQL", nargs=-1, required=True)
@click.option(
    "--format", "format_name", type=options.WordChoice(list(FORMATS)), default="terminal", show_default=True
)
@options.output
def command(words: tuple[str, ...], format_name: str, output: Path | None) -> None:
    """Answer a SELECT over a run's tables: nodes, loops, gauges, processes, threads, shares, losses, metadata.

    Runs with a timeline also have calls and ticks. RUN is a run's path or name, last, -2, a saved profile, or a
    directory that `export --to parquet --table all` has written. By default, it is the newest run in ./ticktree-runs.
    The query can read these tables and nothing else.
    """
    if len(words) > 2:
        raise click.UsageError("give a run and one query, in quotes.")
    for module in ("duckdb", "pyarrow"):  # fail before a run is read
        wanted(module, "query", "query")
    *runs, sql = words
    run = run_named(runs[0]) if runs else None
    with _database(run) as database:
        columns, rows = database.select(sql)
        pieces = FORMATS[format_name](columns, rows)
        if not database.has_calls and re.search(r"\b(calls|ticks)\b", sql, re.IGNORECASE):
            note(
                "This run has no timeline, so calls and ticks are empty: `ticktree run --timeline` records one"
            )
        if output is None or output == Path("-"):
            for piece in pieces:
                show(piece.encode(errors="backslashreplace"), sys.stdout)
        else:
            deliver("".join(pieces).encode(errors="backslashreplace"), output)


@contextmanager
def _database(run: Path | None) -> Iterator[Database]:
    with tempfile.TemporaryDirectory(prefix="ticktree-query-") as scratch:
        if run is not None and is_dataset(run):
            folder = run
        else:
            profile, folder = read(run), Path(scratch) / "dataset"
            with progress("making tables"):
                write_dataset(folder, profile, run)
        yield Database(folder, Path(scratch) / "spilled")
