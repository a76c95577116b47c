"""The layout of `history.sqlite`, and how rows and remembered runs become one another.

    runs        a run a row: its id, its directory's name, when it began, its commit, and all facts as a JSON object
    paths       the paths of sections, each once
    measures    a section in a run: its steady calls

History of the format, which the database keeps as its `user_version`:

1   The first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ticktree.files.guarded import json_in
from ticktree.profile.metadata import Value
from ticktree.profile.remembered import Measure, Remembered

FORMAT = 1
# What tells the file from every other SQLite database: "tick".
APPLICATION = 0x7469636B

# The numbers of runs and paths are of this file alone.
MAKE = (
    """
    CREATE TABLE runs (
        run INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        directory TEXT NOT NULL,
        started_ns INTEGER NOT NULL,
        git_commit TEXT,
        git_dirty INTEGER,
        facts TEXT NOT NULL
    )
    """,
    "CREATE TABLE paths (path INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """
    CREATE TABLE measures (
        run INTEGER NOT NULL REFERENCES runs,
        path INTEGER NOT NULL REFERENCES paths,
        calls INTEGER NOT NULL,
        sum_ns INTEGER NOT NULL,
        p50_ns INTEGER,
        p90_ns INTEGER,
        p99_ns INTEGER,
        max_ns INTEGER,
        share REAL NOT NULL,
        is_loop INTEGER NOT NULL,
        PRIMARY KEY (run, path)
    ) WITHOUT ROWID
    """,
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)

INSERT_RUN = """
    INSERT INTO runs (id, directory, started_ns, git_commit, git_dirty, facts)
    VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, CAST(? AS TEXT), ?, CAST(? AS TEXT))
    ON CONFLICT (id) DO NOTHING
"""
INSERT_PATH = "INSERT INTO paths (name) VALUES (CAST(? AS TEXT)) ON CONFLICT (name) DO NOTHING"
INSERT_MEASURE = """
    INSERT INTO measures
    SELECT ?, path, ?, ?, ?, ?, ?, ?, ?, ? FROM paths WHERE name = CAST(? AS TEXT)
"""
SELECT_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE type <> 'index'"
SELECT_IDS = "SELECT id FROM runs"
SELECT_RUNS = "SELECT run, id, directory, started_ns, facts FROM runs ORDER BY started_ns, id"
SELECT_MEASURES = """
    SELECT run, name, calls, sum_ns, p50_ns, p90_ns, p99_ns, max_ns, share, is_loop
    FROM measures JOIN paths USING (path)
"""


def text(value: str) -> bytes:
    """Return a text as its bytes: names may hold what UTF-8 has none for, and are still to be found again."""
    return value.encode("utf-8", "surrogatepass")


def from_text(value: bytes) -> str:
    """Return the text whose bytes these are; not every writer was ours."""
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")


def is_schema(rows: Iterable[tuple[Any, ...]]) -> bool:
    """Tell whether rows of `SELECT_SCHEMA` are the tables that `MAKE` makes, and hold nothing that runs by itself.

    A view, a trigger or a computed column in their place is a program of the file's author.
    """
    made = {statement.split()[2]: statement.split() for statement in MAKE if statement.split()[0] == "CREATE"}
    found = {}
    for kind, name, sql in rows:
        if kind != "table" or not isinstance(sql, str):
            return False
        if not str(name).startswith("sqlite_"):  # what ANALYZE has made
            found[name] = sql.split()
    return found == made


def row_of(run: Remembered) -> tuple[Any, ...]:
    """Return what `INSERT_RUN` takes."""
    commit = text(run.commit) if run.commit else None
    facts = json.dumps(dict(run.facts), sort_keys=True, separators=(",", ":"))
    is_dirty = int(run.is_dirty) if commit else None
    return (text(run.id), text(run.folder), run.started_ns, commit, is_dirty, text(facts))


def measures_of(number: int, run: Remembered) -> Iterator[tuple[Any, ...]]:
    """Yield what `INSERT_MEASURE` takes, of each section of the run that has this number."""
    for path, one in run.measures.items():
        kept = (one.p50_ns, one.p90_ns, one.p99_ns, one.max_ns, one.share, int(one.is_loop))
        yield (number, one.calls, one.sum_ns, *kept, text(path))


def runs_of(rows: Iterable[tuple[Any, ...]], measures: Iterable[tuple[Any, ...]]) -> list[Remembered]:
    """Return the runs that rows of `SELECT_RUNS` and `SELECT_MEASURES` tell of.

    Raises:
        ValueError: They hold what no version of ours has written; likewise TypeError and KeyError.
    """
    found: dict[int, dict[str, Measure]] = {}
    runs = []
    for number, run_id, folder, started_ns, facts in rows:
        if not all(isinstance(text, str) for text in (run_id, folder, facts)):
            raise ValueError("a run's id, directory or facts are no text")
        known = json_in(facts)
        is_facts = isinstance(known, dict) and all(isinstance(fact, Value) for fact in known.values())
        if not is_facts or not isinstance(started_ns, int):
            raise ValueError(f"run {run_id!r:.60} is nothing that could have been written")
        runs.append(Remembered(run_id, folder, started_ns, known, found.setdefault(number, {})))
    for number, path, calls, sum_ns, p50_ns, p90_ns, p99_ns, max_ns, share, is_loop in measures:
        if not (isinstance(calls, int) and isinstance(sum_ns, int) and calls > 0):
            raise ValueError(f"section {path!r:.60} has no calls")
        kept = (p50_ns, p90_ns, p99_ns, max_ns)
        if not isinstance(path, str) or not all(isinstance(one, int | None) for one in kept):
            raise ValueError(f"section {path!r:.60} is nothing that could have been written")
        found[number][path] = Measure(calls, sum_ns, *kept, float(share), bool(is_loop))
    return runs
