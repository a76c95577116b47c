"""`ticktree query`: query a run with SQL; and datasets, a run's tables in a directory, which queries read."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import click

from ticktree.cli import options
from ticktree.cli.files import deliver, read
from ticktree.cli.runs import CommandOfRuns, run_named
from ticktree.cli.screen import note, progress, show
from ticktree.errors import TicktreeError, one_line
from ticktree.files.atomic import write_atomically
from ticktree.loading import find_run, load_timeline
from ticktree.outputs.markdown import escaped
from ticktree.outputs.registry import import_library
from ticktree.outputs.tabular import CALL_COLUMNS, CALLS, TABLES, cell_text, files
from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline
from ticktree.run.timeline import timeline_parts


def is_dataset(folder: Path) -> bool:
    """Return whether a directory holds a dataset."""
    return all((folder / f"{table}.parquet").is_file() for table in TABLES)


def write_dataset(folder: Path, profile: Profile, run: Path | None) -> None:
    """Write every table of a run, by default the newest, into a directory that is new or empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            # Files from processes of another run would be read as part of this one.
            raise TicktreeError(f"{folder} is not empty: a dataset needs an empty directory")
        for name, content in files(profile, _parts(run)):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
    except OSError as error:
        raise TicktreeError(f"cannot write {folder}: {error.strerror}") from None


def _parts(run: Path | None) -> Iterator[Timeline]:
    if run is None or run.is_dir():
        yield from timeline_parts(find_run(run))
    elif (timeline := load_timeline(run)) is not None:
        yield timeline


_ROWS_AT_ONCE = 10_000
# DuckDB spills the rest to disk, next to the dataset that is made for a query.
_MEMORY = "1GB"
_TICKS = """
CREATE VIEW ticks AS SELECT
    process, path AS loop, start_ns, duration_ns,
    row_number() OVER (PARTITION BY process, thread_id, task, path ORDER BY start_ns) - 1 AS tick
FROM calls WHERE tick
"""


class Database:
    """The tables of the dataset in `folder`; what does not fit into memory goes to the directory `scratch`."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._duckdb = import_library("duckdb", by="query", extra="query")
        self._folder = folder.absolute()
        self._connection: Any = self._duckdb.connect(":memory:")
        try:
            self._make_views()
            self._shut_in(scratch.absolute())
        except self._duckdb.Error as error:
            raise TicktreeError(f"{folder} cannot be read: {_line(error)}") from None

    @property
    def has_calls(self) -> bool:
        """Whether single calls were recorded."""
        return any(self._folder.glob(f"{CALLS}/*/*.parquet"))

    def select(self, sql: str) -> tuple[Sequence[str], Iterator[Sequence[Any]]]:
        """Return the names of the columns of a SELECT, and its rows, which are computed as they are read."""
        try:
            statements = self._duckdb.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != self._duckdb.StatementType.SELECT:
                raise TicktreeError("a query must be one SELECT statement")
            answer = self._connection.execute(sql)
        except (self._duckdb.Error, UnicodeEncodeError) as error:
            raise TicktreeError(_line(error)) from None
        return [column[0] for column in answer.description], self._rows(answer)

    def _rows(self, answer: Any) -> Iterator[Sequence[Any]]:
        try:
            while rows := answer.fetchmany(_ROWS_AT_ONCE):
                yield from rows
        except self._duckdb.Error as error:
            raise TicktreeError(_line(error)) from None

    def _make_views(self) -> None:
        for table in TABLES:
            self._connection.execute(
                f"CREATE VIEW {table} AS SELECT * FROM read_parquet({self._text(f'{table}.parquet')})"
            )
        columns = ", ".join(["process", *CALL_COLUMNS])
        if self.has_calls:
            files = self._text(f"{CALLS}/*/*.parquet")
            source = f"read_parquet({files}, hive_partitioning=true, hive_types={{'process': VARCHAR}})"
        else:
            empty = {"process": "VARCHAR", **CALL_COLUMNS}
            casts = ", ".join(f"NULL::{kind} AS {name}" for name, kind in empty.items())
            source = f"(SELECT {casts} WHERE false)"
        self._connection.execute(f"CREATE VIEW {CALLS} AS SELECT {columns} FROM {source}")
        self._connection.execute(_TICKS)

    def _shut_in(self, scratch: Path) -> None:
        """Restrict DuckDB to reading the dataset's files: no other files, no writes, no network."""
        for setting in (
            f"memory_limit='{_MEMORY}'",
            f"temp_directory={_quoted(str(scratch))}",
            "python_enable_replacements=false",
            "autoinstall_known_extensions=false",
            "autoload_known_extensions=false",
            f"allowed_directories=[{_quoted(str(self._folder))}]",
            "enable_external_access=false",
            "lock_configuration=true",
        ):
            self._connection.execute(f"SET {setting}")

    def _text(self, name: str) -> str:
        return _quoted(str(self._folder / name))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _line(error: Exception) -> str:
    """Return the first paragraph of DuckDB's message: the rest repeats the query with a mark below it."""
    return " ".join(str(error).split("\n\n")[0].split())


# Rows of the formats for people; the other formats have every row.
SHOWN = 200

Rows = Iterator[Sequence[Any]]


def terminal(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield the lines of an aligned table."""
    head = list(islice(rows, SHOWN))
    numeric = [bool(head) and all(_is_number(row[at]) for row in head) for at in range(len(columns))]
    table = [[one_line(name) for name in columns], *([_cell(value) for value in row] for row in head)]
    widths = [max(len(row[at]) for row in table) for at in range(len(columns))]
    for cells in table:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        )
        yield "  ".join(aligned).rstrip() + "\n"
    yield from _rest(rows)


def markdown(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield _row([escaped(one_line(name)) for name in columns])
    yield _row(["---"] * len(columns))
    for row in islice(rows, SHOWN):
        yield _row([escaped(_cell(value)) if isinstance(value, str) else _cell(value) for value in row])
    yield from _rest(rows)


def comma_separated(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield the lines of a CSV file, with an empty cell for an unknown value, and names as `report` writes them."""
    yield _csv_line([cell_text("", name) for name in columns])
    for row in rows:
        yield _csv_line([cell_text(name, value) for name, value in zip(columns, row, strict=True)])


def objects(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield the pieces of a JSON list with one object per row."""
    before = "["
    for row in rows:
        yield f"{before}\n{json.dumps(dict(zip(columns, row, strict=True)), default=str)}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


FORMATS: Mapping[str, Callable[[Sequence[str], Rows], Iterator[str]]] = {
    "terminal": terminal,
    "csv": comma_separated,
    "json": objects,
    "markdown": markdown,
}


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.6g}" if isinstance(value, float) else one_line(str(value))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _csv_line(row: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    return line.getvalue()


def _rest(rows: Rows) -> Iterator[str]:
    hidden = sum(1 for _ in rows)
    if hidden:
        yield f"... and {hidden:,} more rows: --format csv has all of them\n"


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
        import_library(module, "query", "query")
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
