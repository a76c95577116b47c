"""The database: DuckDB with a run's tables, which can do nothing but read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ticktree.errors import TicktreeError
from ticktree.outputs.dataset import CALL_COLUMNS, CALLS, TABLES
from ticktree.outputs.extras import wanted

_ROWS_AT_ONCE = 10_000
# What does not fit is put on disk, beside the dataset that is made for a query.
_MEMORY = "1GB"
_TICKS = """
CREATE VIEW ticks AS SELECT
    process, path AS loop, start_ns, duration_ns,
    row_number() OVER (PARTITION BY process, thread_id, task, path ORDER BY start_ns) - 1 AS tick
FROM calls WHERE tick
"""


class Database:
    """The tables of a dataset.

    Args:
        folder: where the dataset is.
        scratch: a directory for what does not fit into memory.

    Raises:
        TicktreeError: DuckDB is not installed, or the files are none that it can read.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._duckdb = wanted("duckdb", by="query", extra="query")
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
        """Answer a query.

        Returns:
            The names of the columns, and the rows, which are computed as they are read.

        Raises:
            TicktreeError: It is no single SELECT, or wrong.
        """
        try:
            statements = self._duckdb.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != self._duckdb.StatementType.SELECT:
                raise TicktreeError("a query is one SELECT, which reads and changes nothing")
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
        """From here on it reads the dataset's files and no others, writes none, and reaches no network."""
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
    """The first paragraph of DuckDB's message: what follows repeats the query with a mark below it."""
    return " ".join(str(error).split("\n\n")[0].split())
