"""The database of runs: it gives back what it was given, refuses what it does not know, and survives its writers."""

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
from ticktree.profile.remembered import Measure, Remembered

PROGRAM = Path(history_writer.__file__)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / HISTORY_NAME, patience_s=0.2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, where one may be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def start(store: Store, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), str(store.path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})


def check(store: Store) -> None:
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert all(run == invented(run.id) for run in store.runs())


def test_a_run_is_given_back_as_it_was_remembered(store):
    assert store.runs() == []
    assert store.ids() == set()
    strange = "a/\\/b\x00\ud800\u202e'\""
    measures = {
        strange: Measure(3, 9, None, None, None, None, 1.5, True),
        "train": Measure(1, 2**62, 1, 2, 3, 4, 0.25, False),
    }
    facts = {"git.commit": "abc", "git.dirty": True, "cores": 4, "name": strange, "x": 1.5}
    run = Remembered("id " + strange, "folder", 123, facts, measures)
    assert store.add([run]) == 1
    assert store.runs() == [run]
    assert store.ids() == {run.id}


def test_a_run_is_remembered_once(store):
    assert store.add([invented("a"), invented("b"), invented("a")]) == 2
    assert store.add([invented("a")]) == 0
    assert [run.id for run in store.runs()] == ["a", "b"]


def test_runs_can_be_asked_for_in_sql(store):
    store.add(
        [Remembered("a", "a", 1, {"git.commit": "abc"}, {"train": Measure(2, 30, 1, 2, 3, 4, 0.5, True)})]
    )
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        query = (
            "SELECT id, git_commit, name, sum_ns / calls FROM measures NATURAL JOIN runs NATURAL JOIN paths"
        )
        assert connection.execute(query).fetchall() == [("a", "abc", "train", 15)]


@pytest.mark.parametrize(
    "text", [b"what?" * 1000, b"SQLite format 3\x00" + b"x" * 5000], ids=["text", "torn"]
)
def test_a_damaged_file_is_named_and_left_as_it_is(store, text):
    store.path.write_bytes(text)
    for use in (store.runs, store.ids, lambda: store.add([invented("a")])):
        with pytest.raises(StoreError, match=r"history.sqlite is damaged: .*; move it away"):
            use()
    assert store.path.read_bytes() == text


def test_a_file_with_its_middle_overwritten_is_damaged_and_never_wrong(store):
    store.add([invented(str(at)) for at in range(20)])
    whole = bytearray(store.path.read_bytes())
    noise = random.Random(1)
    for _ in range(10):
        torn = bytearray(whole)
        at = noise.randrange(100, len(torn) - 3000)
        torn[at : at + 3000] = noise.randbytes(3000)
        store.path.write_bytes(torn)
        try:
            assert len(store.runs()) <= 20
        except StoreError as error:
            assert "damaged" in str(error)  # noqa: PT017 - either is right


def test_a_file_of_a_newer_ticktree_is_named_and_left_as_it_is(store):
    store.add([invented("a")])
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    before = store.path.read_bytes()
    for use in (store.runs, lambda: store.add([invented("b")])):
        with pytest.raises(StoreError, match="written by a newer ticktree: its format is 2, known here is 1"):
            use()
    assert store.path.read_bytes() == before


def test_somebody_elses_database_is_left_alone(store):
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute("CREATE TABLE accounts (name TEXT)")
    for use in (store.runs, lambda: store.add([invented("b")])):
        with pytest.raises(StoreError, match="is a database, but none in which ticktree remembers runs"):
            use()


def test_an_empty_file_is_one_whose_maker_was_killed(store):
    store.path.touch()
    assert store.runs() == []
    store.add([invented("a")])
    assert store.ids() == {"a"}


def test_where_nothing_can_be_written_one_line_says_so(store):
    store.path.mkdir()
    with pytest.raises(StoreError, match=r"history.sqlite cannot be written: unable to open"):
        store.add([invented("a")])


def test_on_a_disk_that_is_read_only_what_is_remembered_can_be_read(small_disk):
    store = Store(small_disk / HISTORY_NAME)
    store.add([invented("a")])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert [run.id for run in store.runs()] == ["a"]
    with pytest.raises(StoreError, match="cannot be written: attempt to write a readonly database"):
        store.add([invented("b")])


def test_a_number_too_large_is_named_and_nothing_of_its_run_is_kept(store):
    store.add([invented("a")])
    large = Remembered("b", "b", 1, {}, {"train": Measure(1, 2**70, 1, 1, 1, 1, 1.0, False)})
    with pytest.raises(StoreError, match="too large"):
        store.add([invented("c"), large])
    assert store.ids() == {"a"}


def test_a_full_disk_costs_nothing_that_was_remembered(store):
    store.add([invented("a")])
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    original = sqlite3.connect

    def full(*arguments, **options):
        connection = original(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", full)
        with pytest.raises(StoreError, match="cannot be written: database or disk is full"):
            store.add([invented(str(at)) for at in range(50)])
    check(store)
    assert store.ids() == {"a"}


def test_a_disk_that_is_really_full_costs_nothing_that_was_remembered(small_disk):
    store = Store(small_disk / HISTORY_NAME)
    store.add([invented("a")])
    with pytest.raises(StoreError, match="cannot be written"):
        store.add([invented(str(at)) for at in range(200)])
    check(store)
    assert store.ids() == {"a"}


def test_who_waits_too_long_for_another_writer_says_so(store):
    store.add([invented("a")])
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="cannot be written: another process is writing to it"):
            store.add([invented("b")])
        assert store.ids() == {"a"}  # who reads need not wait


def test_processes_that_write_at_the_same_time_lose_nothing(store):
    writers = [start(store, name, 12) for name in "abc"]
    said = {line for writer in writers for line in writer.communicate(timeout=500)[0].split()}
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert store.ids() == said
    assert len(said) == 36
    check(store)


@pytest.mark.slow
def test_writers_that_are_killed_in_the_midst_lose_nothing_that_they_had_written(store):
    noise = random.Random(5)
    said: set[str] = set()
    for attempt in range(3):
        writers = [start(store, f"{attempt}{name}", 1000) for name in "ab"]
        for writer in writers:
            said.add(writer.stdout.readline().strip())
        time.sleep(noise.uniform(0, 0.1))  # somewhere in a transaction
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        said |= {line for writer in writers for line in writer.communicate(timeout=500)[0].split("\n")[:-1]}
        check(store)
        assert said - {""} <= store.ids()
    assert all(len(run.measures) == PATHS for run in store.runs())
    assert len(said) >= 6


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


def test_pages_that_lead_to_more_rows_than_the_file_has_are_one_clear_error(store, monkeypatch):
    monkeypatch.setattr("ticktree.history.store._STEPS", 2000)
    monkeypatch.setattr("ticktree.history.store._STEPS_PER_BYTE", 0)
    store.add([invented(str(at)) for at in range(20)])
    with pytest.raises(StoreError, match="it holds more than its size allows"):
        store.runs()


def test_what_was_remembered_takes_at_most_half_of_the_steps_that_are_allowed(store, monkeypatch):
    store.add([invented(str(at)) for at in range(200)])
    monkeypatch.setattr("ticktree.history.store._STEPS", 0)
    monkeypatch.setattr("ticktree.history.store._STEPS_PER_BYTE", 4)
    assert len(store.runs()) == 200


def test_a_pipe_in_its_place_is_one_clear_error(store):
    os.mkfifo(store.path)
    with pytest.raises(StoreError, match="it is not a regular file"):
        store.runs()
