"""A run's profile travels to rank 0 through a store: in pieces, complete or not at all, and no rank waits for it."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from ticktree.files.owner import process_start
from ticktree.fleet import gatherer
from ticktree.fleet import store as job_store
from ticktree.fleet.gatherer import RankGatherer
from ticktree.fleet.gatherer_process import GathererProcess
from ticktree.fleet.store import StoreTransport, fetch, labels, note_rank, ranks_of
from ticktree.fleet.transport import PublishedPart
from ticktree.loading import load
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.job import (
    copied_run_id,
    count_missing,
    describe_partial,
    describe_progress,
    gathered_profiles,
    is_partial,
    write_final_profile,
)


class Store:
    """The methods of a job's store that are used, in memory."""

    def __init__(self):
        self.kept = {}

    def add(self, key, more):
        self.kept[key] = self.kept.get(key, 0) + more
        return self.kept[key]

    def set(self, key, value):
        self.kept[key] = value.encode() if isinstance(value, str) else value

    def get(self, key):
        return self.kept[key]

    def multi_get(self, keys):
        return [self.kept[key] for key in keys]

    def check(self, keys):
        return all(key in self.kept for key in keys)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path))
    directories = [
        RunDirectory.create(name, tmp_path / "runs", argv=("job.py",)) for name in ("first", "second")
    ]
    yield directories
    for run in directories:
        run.finish()


@pytest.fixture
def ticks(monkeypatch):
    """The number of ticks of each run, by its id."""
    loops = {}
    monkeypatch.setattr(gatherer, "most_ticks", lambda run: loops.get(run.id, 0))
    return loops


def part(packed=None, **fields):
    return PublishedPart("run", "host", (1,), size=len(packed or b""), packed=packed, **fields)


def transports(store):
    """A publishing and a collecting transport."""
    return StoreTransport(lambda: store), StoreTransport(lambda: store)


def start_gatherers(store, runs, *numbers, every=10):
    """Start one gatherer per run, whose rank has the given number."""
    for run, number in zip(runs, numbers, strict=True):
        note_rank(run, number, 2, "here", 1)
    gatherers = [RankGatherer(run, every, lambda *_: store) for run in runs]
    for rank_gatherer in gatherers:
        rank_gatherer.look()  # others might be about to say that they are there
    return gatherers


def test_a_profile_published_in_pieces_is_collected_complete_and_once(monkeypatch):
    monkeypatch.setattr(job_store, "PIECE_BYTES", 3)
    sender, receiver = transports(Store())
    for generation, packed in enumerate([None, b"0123456789", b"abc", b"012345"]):
        sent = part(packed, ticks=7 * generation, is_last=generation == 3)
        sender.publish(sent, generation)
        assert list(receiver.collect()) == [sent]
        assert list(receiver.collect()) == []


def test_unfinished_parts_can_be_left_out():
    sender, receiver = transports(Store())
    sender.publish(part(b"so far"), 1)
    assert list(receiver.collect(only_last=True)) == []
    sender.publish(part(b"all", is_last=True), 2)
    assert list(receiver.collect(only_last=True)) == [part(b"all", is_last=True)]


def test_a_part_that_could_not_be_stored_is_collected_again():
    sender, receiver = transports(Store())
    sender.publish(part(b"so far"), 1)
    with pytest.raises(OSError, match="full"):
        for _ in receiver.collect():
            raise OSError("the disk is full")
    assert list(receiver.collect()) == [part(b"so far")]


def test_a_profile_overwritten_during_the_fetch_is_rejected(monkeypatch):
    monkeypatch.setattr(job_store, "PIECE_BYTES", 3)
    store = Store()
    sender, _ = transports(store)
    sender.publish(part(b"aaaaaa"), 1)
    ((place, first),) = labels(store).items()
    sender.publish(part(b"bbbbbb"), 2)
    assert fetch(store, place, first) == b"aaaaaa", "the one before is there until the next"
    sender.publish(part(b"cccccc"), 3)
    assert fetch(store, place, first) is None


def test_a_profile_that_is_too_large_is_reported_but_not_stored(monkeypatch):
    monkeypatch.setattr(job_store, "MOST_BYTES", 5)
    store = Store()
    sender, receiver = transports(store)
    sender.publish(part(b"0123456789"), 1)
    assert b"0123456789" not in store.kept.values()
    assert [(received.size, received.packed) for received in receiver.collect()] == [(10, None)]
    last = part(b"0123456789", is_last=True)
    sender.publish(last, 2)
    assert list(receiver.collect()) == [last], "at the end of a job a profile of any size is sent"


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"{}",
        b"[]",
        b'{"run": 1, "host": "h", "ranks": [1]}',
        b'{"run": "r", "host": "h", "ranks": [1], "is_last": 1}',
        b"null",
    ],
)
def test_an_invalid_label_is_ignored(text):
    store = Store()
    sender, receiver = transports(store)
    sender.publish(part(), 0)
    store.set("ticktree/slots/0", text)
    assert list(receiver.collect()) == []


def test_rank_0_gets_the_profile_so_far_every_few_ticks(runs, ticks):
    store = Store()
    first, second = start_gatherers(store, runs, 0, 1)
    for count in (3, 9):
        ticks[runs[1].id] = count
        second.look()
        first.look()
        assert list(gathered_profiles(runs[0].path)) == []
        assert count_missing(runs[0].path) == 1
        assert next(describe_progress(runs[0].path)).endswith("never")
    ticks[runs[1].id] = 12
    second.look()
    first.look()
    (path,) = gathered_profiles(runs[0].path)
    assert is_partial(path)
    assert copied_run_id(path) == runs[1].id
    assert load(path).metadata["name"] == {"second"}
    assert load(path).metadata["unfinished"] == {True}
    assert count_missing(runs[0].path) == 0
    (progress,) = describe_progress(runs[0].path)
    assert progress.startswith("rank 1 on ")
    assert "up to tick 12, at " in progress
    assert describe_partial(path) == progress
    before = dict(store.kept)
    ticks[runs[1].id] = 21
    second.look()
    assert store.kept == before, "nine ticks later"


def test_the_final_profile_replaces_the_earlier_one(runs, ticks):
    store = Store()
    first, second = start_gatherers(store, runs, 0, 1)
    ticks[runs[1].id] = 12
    second.look()
    first.look()
    write_final_profile(runs[0], runs[1].id, gzip.compress(Profile().to_json().encode()))
    ticks[runs[1].id] = 40
    second.look()
    first.look()  # late: it comes after the end
    (path,) = gathered_profiles(runs[0].path)
    assert not is_partial(path)
    assert next(describe_progress(runs[0].path)).endswith("at its end")


def test_ticks_count_from_the_last_reset_of_recording(runs, ticks):
    store = Store()
    first, second = start_gatherers(store, runs, 0, 1)
    for count in (30, 4):
        ticks[runs[1].id] = count
        second.look()
        first.look()
        assert f"up to tick {count}," in next(describe_progress(runs[0].path))


def test_earlier_profiles_keep_their_age_after_a_broken_connection(runs, ticks, monkeypatch):
    stores = [Store()]
    note_rank(runs[0], 0, 2, "here", 1)
    note_rank(runs[1], 1, 2, "here", 1)
    now_s = [0.0]
    first, second = (RankGatherer(run, 10, lambda *_: stores[-1], clock=lambda: now_s[0]) for run in runs)
    for rank_gatherer in (first, second):
        rank_gatherer.look()
    ticks[runs[1].id] = 12
    second.look()
    first.look()
    progress = list(describe_progress(runs[0].path))
    monkeypatch.setattr(gatherer.time, "time_ns", lambda: 0)

    class Broken(Store):
        def multi_get(self, keys):
            raise OSError("the other end has gone")

        def set(self, key, value):
            raise OSError("the other end has gone")

    store = stores[0]
    broken = Broken()
    broken.kept = store.kept
    first._transport._store = second._transport._store = broken
    ticks[runs[1].id] = 24
    for rank_gatherer in (first, second):
        with pytest.raises(OSError, match="gone"):
            rank_gatherer.look()
    now_s[0] += 60
    first.look()
    assert list(describe_progress(runs[0].path)) == progress, "nothing has come since"
    second.look()
    first.look()
    assert "up to tick 24" in next(describe_progress(runs[0].path))
    assert list(labels(store)) == [0], "in the place that it had"


def test_the_later_of_two_places_of_one_run_counts(runs, ticks):
    store = Store()
    first, second = start_gatherers(store, runs, 0, 1)
    ticks[runs[1].id] = 40
    second.look()
    again = RankGatherer(runs[1], 10, lambda *_: store)
    again.look()
    ticks[runs[1].id] = 60
    again.look()
    for _ in range(2):
        first.look()
        assert "up to tick 60," in next(describe_progress(runs[0].path))


def test_a_job_with_a_single_run_needs_no_store(runs):
    def connect(*_):
        raise AssertionError("there is nobody else")

    for number in range(2):
        note_rank(runs[0], number, 2, "here", 1)
    gatherer = RankGatherer(runs[0], 1, connect)
    assert [gatherer.look() for _ in range(3)] == [0.0, 0.0, 0.0]


def test_an_unreachable_store_is_retried_later_and_not_at_every_look(runs):
    now_s, attempts = [100.0], []

    def connect(*_):
        attempts.append(now_s[0])
        raise OSError("nobody answers")

    note_rank(runs[0], 1, 2, "here", 1)
    gatherer = RankGatherer(runs[0], 1, connect, clock=lambda: now_s[0])
    gatherer.look()
    for _ in range(25):
        with suppress(OSError):
            gatherer.look()
        now_s[0] += 1.0
    assert attempts == [100.0, 110.0, 120.0]


def test_ranks_of_an_earlier_start_of_the_job_do_not_count(runs, monkeypatch):
    note_rank(runs[0], 0, 2, "here", 1)
    note_rank(runs[0], 1, 2, "here", 1)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    note_rank(runs[0], 1, 2, "there", 2)
    assert [(rank.number, rank.host) for rank in ranks_of(runs[0])] == [(1, "there")]


def test_ids_that_are_not_file_names_stay_distinct_in_one_directory(runs):
    long = "a" * 300
    for run_id in ("../../x", "..", long + "1", long + "2"):
        write_final_profile(runs[0], run_id, gzip.compress(b"{}"))
    parts = gathered_profiles(runs[0].path)
    assert len(parts) == 4
    assert {path.parent for path in parts} == {runs[0].path / "job"}


def test_the_process_ends_on_request(runs):
    process = GathererProcess(10)
    process.end()  # nothing has begun
    process.begin(runs[0])
    pid = process._process.pid
    assert process_start(pid) is not None
    process.end()
    assert process_start(pid) is None
    assert [path.name for path in runs[0].path.iterdir()] == ["run.json"]


SUPERVISOR = """
import sys, time
from pathlib import Path
from ticktree.fleet.gatherer_process import GathererProcess
from ticktree.run.finishing import RunDirectory
process = GathererProcess(10)
process.begin(RunDirectory.open(Path(sys.argv[1])))
print(process._process.pid, flush=True)
time.sleep(600)
"""


def test_the_process_ends_with_its_supervisor_even_if_that_is_killed(runs):
    command = [sys.executable, "-c", SUPERVISOR, str(runs[0].path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        pid = int(supervisor.stdout.readline())
        assert process_start(pid) is not None
        os.kill(supervisor.pid, signal.SIGKILL)
    until = time.monotonic() + 500
    while process_start(pid) is not None and time.monotonic() < until:
        time.sleep(0.05)
    assert process_start(pid) is None
