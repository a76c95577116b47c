"""The store: the database of a directory's runs; many processes may write to it, and be killed.

    ticktree-runs/history.sqlite

Several programs may end at the same moment, and any of them may be killed while it writes: a run is written in one
transaction, for which SQLite locks the file, and the next process that opens it rolls back the transaction of a
killed writer. The journal is a rollback journal, deleted at each commit: a write-ahead log needs memory that processes
share, and a directory of runs may be on a disk of another machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ticktree.errors import TicktreeError
from ticktree.files.guarded import MAX_DATA_BYTES, FileError, MissingFileError, open_file
from ticktree.files.trust import require_own
from ticktree.history import layout
from ticktree.profile.run_summary import RunSummary

if TYPE_CHECKING:
    from sqlite3 import Connection

HISTORY_NAME = "history.sqlite"

# Steps of SQLite's virtual machine: reading a million calls takes some ten thousand per row. A file whose pages lead
# in circles contains rows without end.
_STEPS, _STEPS_PER_BYTE, _STEPS_PER_CHECK = 1_000_000, 8, 1000
_VERBS = {"rw": "read", "rwc": "written"}


class StoreError(TicktreeError):
    """The history cannot be read or written; one line that names the file and the reason."""


class Store:
    """The runs stored in one file, which is created with the first run."""

    def __init__(self, path: Path, patience_s: float = 30.0) -> None:
        self.path = path
        self.patience_s = patience_s

    def add(self, runs: Iterable[RunSummary]) -> int:
        """Store all of `runs`, or none after an error; a run that is already stored stays as it is.

        Returns:
            The number of runs that were not stored before.

        Raises:
            StoreError: They cannot be written; the file is as before.
        """
        runs = list(runs)
        try:
            require_own(self.path)
        except TicktreeError as error:
            raise StoreError(str(error)) from None
        with self._connect("rwc") as connection:
            connection.execute("BEGIN IMMEDIATE")  # closing the connection before COMMIT rolls back
            if not self._has_tables(connection):
                for statement in layout.CREATE:
                    connection.execute(statement)
            connection.set_progress_handler(None, 0)  # our own rows are never too many
            count = sum([_add(connection, run) for run in runs])
            connection.execute("COMMIT")
        return count

    def ids(self) -> set[str]:
        """Return the ids of all stored runs.

        Raises:
            StoreError: They cannot be read.
        """
        return {run_id for (run_id,) in self._read(layout.SELECT_IDS)[0]}

    def runs(self) -> Sequence[RunSummary]:
        """Return all stored runs, oldest first.

        Raises:
            StoreError: They cannot be read, or no version of ticktree can have written them.
        """
        rows, measures = self._read(layout.SELECT_RUNS, layout.SELECT_MEASURES)
        try:
            return layout.read_runs(rows, measures)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise self._damage_error(error) from None

    def _read(self, *queries: str) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each query, all from the same moment."""
        if not self._size():
            return [[] for _ in queries]
        with self._connect("rw") as connection:
            connection.execute("PRAGMA query_only = 1")
            connection.execute("BEGIN")
            if not self._has_tables(connection):
                return [[] for _ in queries]
            return [connection.execute(query).fetchall() for query in queries]

    @contextmanager
    def _connect(self, mode: str) -> Iterator[Connection]:
        """Open a connection without a transaction; raise every error of SQLite as a StoreError."""
        try:
            import sqlite3  # here, because few processes need it, and some Pythons lack it
        except ImportError:
            raise StoreError("runs cannot be remembered: this Python was built without sqlite3") from None
        uri = f"file:{quote(str(self.path.absolute()))}?mode={mode}"
        try:
            connection = sqlite3.connect(uri, uri=True, timeout=self.patience_s, isolation_level=None)
            with closing(connection):
                connection.text_factory = layout.decode
                checks = iter(range((_STEPS + _STEPS_PER_BYTE * self._size()) // _STEPS_PER_CHECK))
                connection.set_progress_handler(lambda: next(checks, None) is None, _STEPS_PER_CHECK)
                yield connection
        except OverflowError:
            message = f"{self.path}: a run holds a number that is too large to be remembered"
            raise StoreError(message) from None
        except MemoryError:  # a damaged page contains a length of gigabytes
            raise self._damage_error("it does not fit into this machine's memory") from None
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise self._damage_error("it holds more than its size allows") from None
            reason = "another process is writing to it" if "locked" in str(error) else str(error)
            raise StoreError(f"{self.path} cannot be {_VERBS[mode]}: {reason}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._damage_error(error) from None

    def _has_tables(self, connection: Connection) -> bool:
        """Return whether the tables exist; their creator may have been killed, or not have finished."""
        ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
        ((application,),) = connection.execute("PRAGMA application_id")
        ((version,),) = connection.execute("PRAGMA user_version")
        if not tables and application in (0, layout.APPLICATION):
            return False
        if application != layout.APPLICATION or version < 1:
            raise StoreError(f"{self.path} is a database, but none in which ticktree remembers runs")
        if version > layout.FORMAT:
            raise StoreError(
                f"{self.path} was written by a newer ticktree: its format is {version}, known here is {layout.FORMAT}"
            )
        if not layout.is_schema(connection.execute(layout.SELECT_SCHEMA)):
            raise self._damage_error("its tables are not those that ticktree makes")
        return True

    def _size(self) -> int:
        """Return the file's size in bytes; 0 if there is none."""
        try:
            with open_file(self.path, MAX_DATA_BYTES) as file:
                return os.fstat(file.fileno()).st_size
        except MissingFileError:
            return 0
        except FileError as error:
            raise StoreError(str(error)) from None

    def _damage_error(self, error: Exception | str) -> StoreError:
        return StoreError(
            f"{self.path} is damaged: {error}; move it away, and `ticktree history` reads the runs next to it again"
        )


def _add(connection: Connection, run: RunSummary) -> bool:
    """Write a run and return True, unless it is stored already."""
    cursor = connection.execute(layout.INSERT_RUN, layout.run_row(run))
    if not cursor.rowcount or cursor.lastrowid is None:
        return False
    connection.executemany(layout.INSERT_PATH, [(layout.encode(path),) for path in run.measures])
    connection.executemany(layout.INSERT_MEASURE, layout.measure_rows(cursor.lastrowid, run))
    return True
