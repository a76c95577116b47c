"""The store: the database that remembers the runs of a directory; many may write to it, and be killed.

    ticktree-runs/history.sqlite

Several programs may end at the same moment, and any of them may be killed while it writes: a run is written in one
transaction, for which SQLite locks the file, and the next process that opens it undoes what a killed writer
had begun. The journal is the old one, which is deleted at each commit: the newer needs memory that processes
share, and a directory of runs may lie on a disk of another machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ticktree.errors import TicktreeError
from ticktree.files.guarded import MOST_OF_DATA, FileError, MissingFileError, opened
from ticktree.files.trust import require_own
from ticktree.history import layout
from ticktree.profile.remembered import Remembered

if TYPE_CHECKING:
    from sqlite3 import Connection

HISTORY_NAME = "history.sqlite"

# Of SQLite's own counting: a read of a million calls takes some ten thousand for each row. A file whose pages lead in
# circles holds rows without end.
_STEPS, _STEPS_PER_BYTE, _STEPS_AT_ONCE = 1_000_000, 8, 1000
_DOING = {"rw": "read", "rwc": "written"}


class StoreError(TicktreeError):
    """What is remembered cannot be read or written; one line that names the file and says why."""


class Store:
    """The runs remembered in one file, which is made when the first is."""

    def __init__(self, path: Path, patience_s: float = 30.0) -> None:
        self.path = path
        self.patience_s = patience_s

    def add(self, runs: Iterable[Remembered]) -> int:
        """Remember runs: all of them, or where anything goes wrong none; one that is remembered stays as it is.

        Returns:
            How many were not yet remembered.

        Raises:
            StoreError: They cannot be written; what was remembered before still is.
        """
        every = list(runs)
        try:
            require_own(self.path)
        except TicktreeError as error:
            raise StoreError(str(error)) from None
        with self._opened("rwc") as connection:
            connection.execute(
                "BEGIN IMMEDIATE"
            )  # what is not committed when the connection is closed is undone
            if not self._is_made(connection):
                for statement in layout.MAKE:
                    connection.execute(statement)
            connection.set_progress_handler(None, 0)  # what is written is ours, however much
            added = sum([_add(connection, run) for run in every])
            connection.execute("COMMIT")
        return added

    def ids(self) -> set[str]:
        """The ids of all that are remembered.

        Raises:
            StoreError: They cannot be read.
        """
        return {run_id for (run_id,) in self._read(layout.SELECT_IDS)[0]}

    def runs(self) -> Sequence[Remembered]:
        """All that are remembered, oldest first.

        Raises:
            StoreError: They cannot be read, or are nothing that could have been written.
        """
        rows, measures = self._read(layout.SELECT_RUNS, layout.SELECT_MEASURES)
        try:
            return layout.runs_of(rows, measures)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise self._damaged(error) from None

    def _read(self, *queries: str) -> list[list[tuple[Any, ...]]]:
        """The rows of each query, as they were at one moment."""
        if not self._size():
            return [[] for _ in queries]
        with self._opened("rw") as connection:
            connection.execute("PRAGMA query_only = 1")
            connection.execute("BEGIN")
            if not self._is_made(connection):
                return [[] for _ in queries]
            return [connection.execute(query).fetchall() for query in queries]

    @contextmanager
    def _opened(self, mode: str) -> Iterator[Connection]:
        """A connection, on which nothing is begun, and clear errors for whatever goes wrong with it."""
        try:
            import sqlite3  # only where it is used: few programs are that long, and some Pythons lack it
        except ImportError:
            raise StoreError("runs cannot be remembered: this Python was built without sqlite3") from None
        try:
            with closing(
                sqlite3.connect(
                    f"file:{quote(str(self.path.absolute()))}?mode={mode}",
                    uri=True,
                    timeout=self.patience_s,
                    isolation_level=None,
                )
            ) as connection:
                connection.text_factory = layout.from_text
                steps = _STEPS + _STEPS_PER_BYTE * self._size()
                left = iter(range(steps // _STEPS_AT_ONCE))
                connection.set_progress_handler(lambda: next(left, None) is None, _STEPS_AT_ONCE)
                yield connection
        except OverflowError:
            raise StoreError(
                f"{self.path}: a run holds a number that is too large to be remembered"
            ) from None
        except MemoryError:  # a value that a damaged page gives a length of gigabytes
            raise self._damaged("it does not fit into this machine's memory") from None
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise self._damaged("it holds more than its size allows") from None
            reason = "another process is writing to it" if "locked" in str(error) else str(error)
            raise StoreError(f"{self.path} cannot be {_DOING[mode]}: {reason}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._damaged(error) from None

    def _is_made(self, connection: Connection) -> bool:
        """Whether the tables are there; they are not in a file whose maker was killed, or is still at it."""
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
            raise self._damaged("its tables are not those that ticktree makes")
        return True

    def _size(self) -> int:
        """How many bytes the file has; 0 where there is none."""
        try:
            with opened(self.path, MOST_OF_DATA) as file:
                return os.fstat(file.fileno()).st_size
        except MissingFileError:
            return 0
        except FileError as error:
            raise StoreError(str(error)) from None

    def _damaged(self, error: Exception | str) -> StoreError:
        return StoreError(
            f"{self.path} is damaged: {error}; move it away, and `ticktree history` reads the runs next to it again"
        )


def _add(connection: Connection, run: Remembered) -> bool:
    """Write a run, unless it is there."""
    cursor = connection.execute(layout.INSERT_RUN, layout.row_of(run))
    if not cursor.rowcount or cursor.lastrowid is None:
        return False
    connection.executemany(layout.INSERT_PATH, [(layout.text(path),) for path in run.measures])
    connection.executemany(layout.INSERT_MEASURE, layout.measures_of(cursor.lastrowid, run))
    return True
