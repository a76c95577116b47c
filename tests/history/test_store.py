"""The database of runs: it returns what was stored, refuses unknown files, and survives killed writers."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import history_writer
from support.history_writer import PATHS, invented
from ticktree.history import HISTORY_NAME, Store, StoreError
from ticktree.profile.run_summary import Measure, RunSummary

PROGRAM = Path(history_writer.__file__)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / HISTORY_NAME, patience_s=0.2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a separate small file system, if this user may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def start(store: Store, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), str(store.path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})


def check(store: Store) -> None:
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert all(run == invented(run.id) for run in store.runs())


def test_a_stored_run_is_read_back_unchanged(store):
    assert store.runs() == []
    assert store.ids() == set()
    strange = "a/\\/b\x00\ud800\u202e'\""
    measures = {
        strange: Measure(3, 9, None, None, None, None, 1.5, True),
        "train": Measure(1, 2**62, 1, 2, 3, 4, 0.25, False),
    }
    facts = {"git.commit": "abc", "git.dirty": True, "cores": 4, "name": strange, "x": 1.5}
    run = RunSummary("id " + strange, "folder", 123, facts, measures)
    assert store.add([run]) == 1
    assert store.runs() == [run]
    assert store.ids() == {run.id}


def test_a_run_is_stored_once(store):
    assert store.add([invented("a"), invented("b"), invented("a")]) == 2
    assert store.add([invented("a")]) == 0
    assert [run.id for run in store.runs()] == ["a", "b"]


def test_runs_can_be_queried_in_sql(store):
    measures = {"train": Measure(2, 30, 1, 2, 3, 4, 0.5, True)}
    store.add([RunSummary("a", "a", 1, {"git.commit": "abc"}, measures)])
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        table = "measures NATURAL JOIN runs NATURAL JOIN paths"
        rows = connection.execute(f"SELECT id, git_commit, name, sum_ns / calls FROM {table}").fetchall()
        assert rows == [("a", "abc", "train", 15)]


@pytest.mark.parametrize(
    "text", [b"what?" * 1000, b"SQLite format 3\x00" + b"x" * 5000], ids=["text", "torn"]
)
def test_an_error_names_a_damaged_file_and_the_file_stays_unchanged(store, text):
    store.path.write_bytes(text)
    for call in (store.runs, store.ids, lambda: store.add([invented("a")])):
        with pytest.raises(StoreError, match=r"history.sqlite is damaged: .*; move it away"):
            call()
    assert store.path.read_bytes() == text


def test_a_file_with_an_overwritten_part_is_damaged_or_read_without_additional_runs(store):
    store.add([invented(str(number)) for number in range(20)])
    original = store.path.read_bytes()
    rng = random.Random(1)
    for _ in range(10):
        data = bytearray(original)
        offset = rng.randrange(100, len(data) - 3000)
        data[offset : offset + 3000] = rng.randbytes(3000)
        store.path.write_bytes(data)
        try:
            assert len(store.runs()) <= 20
        except StoreError as error:
            assert "damaged" in str(error)  # noqa: PT017 - either is right


def test_an_error_names_a_file_of_a_newer_ticktree_and_the_file_stays_unchanged(store):
    store.add([invented("a")])
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    before = store.path.read_bytes()
    for call in (store.runs, lambda: store.add([invented("b")])):
        with pytest.raises(StoreError, match="written by a newer ticktree: its format is 2, known here is 1"):
            call()
    assert store.path.read_bytes() == before


def test_another_programs_database_is_refused(store):
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute("CREATE TABLE accounts (name TEXT)")
    for call in (store.runs, lambda: store.add([invented("b")])):
        with pytest.raises(StoreError, match="is a database, but none in which ticktree remembers runs"):
            call()


def test_an_empty_file_counts_as_one_whose_creator_was_killed(store):
    store.path.touch()
    assert store.runs() == []
    store.add([invented("a")])
    assert store.ids() == {"a"}


def test_a_path_that_cannot_be_written_is_one_clear_error(store):
    store.path.mkdir()
    with pytest.raises(StoreError, match=r"history.sqlite cannot be written: unable to open"):
        store.add([invented("a")])


def test_stored_runs_can_be_read_from_a_read_only_disk(small_disk):
    store = Store(small_disk / HISTORY_NAME)
    store.add([invented("a")])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert [run.id for run in store.runs()] == ["a"]
    with pytest.raises(StoreError, match="cannot be written: attempt to write a readonly database"):
        store.add([invented("b")])


def test_a_number_that_is_too_large_is_an_error_and_no_run_is_stored(store):
    store.add([invented("a")])
    large = RunSummary("b", "b", 1, {}, {"train": Measure(1, 2**70, 1, 1, 1, 1, 1.0, False)})
    with pytest.raises(StoreError, match="too large"):
        store.add([invented("c"), large])
    assert store.ids() == {"a"}


def test_no_stored_run_is_lost_when_sqlite_reports_a_full_disk(store):
    store.add([invented("a")])
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    original = sqlite3.connect

    def full(*arguments, **options):
        connection = original(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return connection

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sqlite3, "connect", full)
        with pytest.raises(StoreError, match="cannot be written: database or disk is full"):
            store.add([invented(str(number)) for number in range(50)])
    check(store)
    assert store.ids() == {"a"}


def test_no_stored_run_is_lost_when_the_disk_is_full(small_disk):
    store = Store(small_disk / HISTORY_NAME)
    store.add([invented("a")])
    with pytest.raises(StoreError, match="cannot be written"):
        store.add([invented(str(number)) for number in range(200)])
    check(store)
    assert store.ids() == {"a"}


def test_a_writer_that_waits_too_long_for_another_writer_raises_an_error(store):
    store.add([invented("a")])
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="cannot be written: another process is writing to it"):
            store.add([invented("b")])
        assert store.ids() == {"a"}  # a reader need not wait


def test_processes_that_write_at_the_same_time_lose_no_run(store):
    writers = [start(store, name, 12) for name in "abc"]
    ids = {line for writer in writers for line in writer.communicate(timeout=500)[0].split()}
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert store.ids() == ids
    assert len(ids) == 36
    check(store)


@pytest.mark.slow
def test_writers_killed_during_a_transaction_lose_no_run_that_they_had_written(store):
    rng = random.Random(5)
    ids: set[str] = set()
    for attempt in range(3):
        writers = [start(store, f"{attempt}{name}", 1000) for name in "ab"]
        for writer in writers:
            ids.add(writer.stdout.readline().strip())
        time.sleep(rng.uniform(0, 0.1))  # in the middle of a transaction
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        ids |= {line for writer in writers for line in writer.communicate(timeout=500)[0].split("\n")[:-1]}
        check(store)
        assert ids - {""} <= store.ids()
    assert all(len(run.measures) == PATHS for run in store.runs())
    assert len(ids) >= 6


HOSTILE = {
    "a run whose id is bytes": "UPDATE runs SET id = x'ff00'",
    "a directory that is bytes": "UPDATE runs SET directory = x'00'",
    "facts nested deep": "UPDATE runs SET facts = replace(hex(zeroblob(100000)), '00', '[')",
    "facts that are a list": "UPDATE runs SET facts = '[1]'",
    "facts with an infinite number": "UPDATE runs SET facts = '{\"x\": 1e400}'",
    "a path that is bytes": "UPDATE paths SET name = CAST(path AS BLOB)",
    "a percentile that is text": "UPDATE measures SET p50_ns = 'x'",
    "a share that is text": "UPDATE measures SET share = 'x'",
    "a view without end in place of the runs": """
        DROP TABLE runs;
        CREATE VIEW runs AS WITH RECURSIVE endless(run) AS (SELECT 1 UNION ALL SELECT run + 1 FROM endless)
        SELECT run, 'a' AS id, 'a' AS directory, run AS started_ns, '{}' AS facts FROM endless
    """,
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM measures; END",
    "a computed column": """
        DROP TABLE paths; CREATE TABLE paths (path INTEGER PRIMARY KEY, name TEXT AS (hex(zeroblob(100000000))))
    """,
    "a schema that is no UTF-8": """
        PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = CAST(x'ff' || sql AS TEXT) WHERE name = 'runs'
    """,
}


@pytest.mark.parametrize("statements", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_database_is_one_clear_error(store, statements):
    store.add([invented("a")])
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.executescript(statements)
        connection.commit()
    with pytest.raises(StoreError, match=r"^[^\n]+$"):
        store.runs()


def test_more_rows_than_the_files_size_allows_are_one_clear_error(store, monkeypatch):
    monkeypatch.setattr("ticktree.history.store._STEPS", 2000)
    monkeypatch.setattr("ticktree.history.store._STEPS_PER_BYTE", 0)
    store.add([invented(str(number)) for number in range(20)])
    with pytest.raises(StoreError, match="it holds more than its size allows"):
        store.runs()


def test_reading_stored_runs_takes_at_most_half_of_the_allowed_steps(store, monkeypatch):
    store.add([invented(str(number)) for number in range(200)])
    monkeypatch.setattr("ticktree.history.store._STEPS", 0)
    monkeypatch.setattr("ticktree.history.store._STEPS_PER_BYTE", 4)
    assert len(store.runs()) == 200


def test_a_pipe_instead_of_the_file_is_one_clear_error(store):
    os.mkfifo(store.path)
    with pytest.raises(StoreError, match="it is not a regular file"):
        store.runs()
