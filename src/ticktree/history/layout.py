"""The layout of `history.sqlite`: statements, and conversion between rows and runs.

    runs        one row per run: its id, its directory's name, its start, its commit, and all facts as a JSON object
    paths       one row per path of a section
    measures    one row per section and run: its steady calls

History of the format, which the database stores as its `user_version`:

1   The first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ticktree.files.guarded import parse_json
from ticktree.profile.metadata import Value
from ticktree.profile.run_summary import Measure, RunSummary

FORMAT = 1
# Distinguishes the file from other SQLite databases: "tick".
APPLICATION = 0x7469636B

# The numbers of runs and paths are valid only in this file.
CREATE = (
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


def encode(text: str) -> bytes:
    """Return the bytes of a text: a name may contain what UTF-8 cannot represent, and queries must still match it."""
    return text.encode("utf-8", "surrogatepass")


def decode(value: bytes) -> str:
    """Return the text with these bytes; another program may have written them."""
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")


def is_schema(rows: Iterable[tuple[Any, ...]]) -> bool:
    """Return whether rows of `SELECT_SCHEMA` are the tables that `CREATE` creates, and no code.

    A view, a trigger or a computed column in their place is a program of the file's author.
    """
    expected = {words[2]: words for words in map(str.split, CREATE) if words[0] == "CREATE"}
    tables = {}
    for kind, name, sql in rows:
        if kind != "table" or not isinstance(sql, str):
            return False
        if not str(name).startswith("sqlite_"):  # ANALYZE creates these
            tables[name] = sql.split()
    return tables == expected


def run_row(run: RunSummary) -> tuple[Any, ...]:
    """Return the parameters of `INSERT_RUN`."""
    commit = encode(run.commit) if run.commit else None
    facts = json.dumps(dict(run.facts), sort_keys=True, separators=(",", ":"))
    is_dirty = int(run.is_dirty) if commit else None
    return (encode(run.id), encode(run.folder), run.started_ns, commit, is_dirty, encode(facts))


def measure_rows(number: int, run: RunSummary) -> Iterator[tuple[Any, ...]]:
    """Yield the parameters of `INSERT_MEASURE` for each section of the run with this number."""
    for path, measure in run.measures.items():
        durations = (measure.p50_ns, measure.p90_ns, measure.p99_ns, measure.max_ns)
        row = (number, measure.calls, measure.sum_ns, *durations, measure.share, int(measure.is_loop))
        yield (*row, encode(path))


def read_runs(rows: Iterable[tuple[Any, ...]], measures: Iterable[tuple[Any, ...]]) -> list[RunSummary]:
    """Return the runs in rows of `SELECT_RUNS` and `SELECT_MEASURES`.

    Raises:
        ValueError: No version of ticktree can have written the rows; likewise TypeError and KeyError.
    """
    measures_by_run: dict[int, dict[str, Measure]] = {}
    runs = []
    for number, run_id, folder, started_ns, facts_json in rows:
        if not all(isinstance(text, str) for text in (run_id, folder, facts_json)):
            raise ValueError("a run's id, directory or facts are no text")
        facts = parse_json(facts_json)
        is_facts = isinstance(facts, dict) and all(isinstance(fact, Value) for fact in facts.values())
        if not is_facts or not isinstance(started_ns, int):
            raise ValueError(f"run {run_id!r:.60} is nothing that could have been written")
        runs.append(RunSummary(run_id, folder, started_ns, facts, measures_by_run.setdefault(number, {})))
    for number, path, calls, sum_ns, p50_ns, p90_ns, p99_ns, max_ns, share, is_loop in measures:
        if not (isinstance(calls, int) and isinstance(sum_ns, int) and calls > 0):
            raise ValueError(f"section {path!r:.60} has no calls")
        durations = (p50_ns, p90_ns, p99_ns, max_ns)
        if not isinstance(path, str) or not all(isinstance(ns, int | None) for ns in durations):
            raise ValueError(f"section {path!r:.60} is nothing that could have been written")
        measures_by_run[number][path] = Measure(calls, sum_ns, *durations, float(share), bool(is_loop))
    return runs
