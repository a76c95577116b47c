"""A run's profile on its way to rank 0, over a store: in pieces, whole or not at all, and nobody waits for it."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from ticktree.files.owner import start_of
from ticktree.fleet import gatherer
from ticktree.fleet import store as job_store
from ticktree.fleet.gatherer import RankGatherer
from ticktree.fleet.gatherer_process import GathererProcess
from ticktree.fleet.store import StoreTransport, fetch, labels, note_rank, ranks_of
from ticktree.fleet.transport import PublishedPart
from ticktree.loading import load
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.job import copied_run, gathered, how_far, how_far_of, is_in_part, keep, missing


class Store:
    """As much of a job's store as is used, in memory."""

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
    """How many ticks each run has made, by its id."""
    loops = {}
    monkeypatch.setattr(gatherer, "most_ticks", lambda run: loops.get(run.id, 0))
    return loops


def part(packed=None, **fields):
    return PublishedPart("run", "host", (1,), size=len(packed or b""), packed=packed, **fields)


def transports(store):
    """One that publishes, and one that collects."""
    return StoreTransport(lambda: store), StoreTransport(lambda: store)


def start_gatherers(store, runs, *numbers, every=10):
    """A gatherer for each run, whose rank has that number."""
    for run, number in zip(runs, numbers, strict=True):
        note_rank(run, number, 2, "here", 1)
    gatherers = [RankGatherer(run, every, lambda *_: store) for run in runs]
    for rank_gatherer in gatherers:
        rank_gatherer.look()  # others might be about to say that they are there
    return gatherers


def test_what_is_put_there_in_pieces_is_collected_whole_and_once(monkeypatch):
    monkeypatch.setattr(job_store, "PIECE_BYTES", 3)
    sender, receiver = transports(Store())
    for generation, packed in enumerate([None, b"0123456789", b"abc", b"012345"]):
        sent = part(packed, ticks=7 * generation, is_last=generation == 3)
        sender.publish(sent, generation)
        assert list(receiver.collect()) == [sent]
        assert list(receiver.collect()) == []


def test_parts_that_go_on_can_be_left_out():
    sender, receiver = transports(Store())
    sender.publish(part(b"so far"), 1)
    assert list(receiver.collect(only_last=True)) == []
    sender.publish(part(b"all", is_last=True), 2)
    assert list(receiver.collect(only_last=True)) == [part(b"all", is_last=True)]


def test_a_part_that_could_not_be_kept_is_collected_again():
    sender, receiver = transports(Store())
    sender.publish(part(b"so far"), 1)
    with pytest.raises(OSError, match="full"):
        for _ in receiver.collect():
            raise OSError("the disk is full")
    assert list(receiver.collect()) == [part(b"so far")]


def test_what_is_overwritten_while_it_is_fetched_is_not_taken_for_whole(monkeypatch):
    monkeypatch.setattr(job_store, "PIECE_BYTES", 3)
    store = Store()
    sender, _ = transports(store)
    sender.publish(part(b"aaaaaa"), 1)
    ((place, first),) = labels(store).items()
    sender.publish(part(b"bbbbbb"), 2)
    assert fetch(store, place, first) == b"aaaaaa", "the one before is there until the next"
    sender.publish(part(b"cccccc"), 3)
    assert fetch(store, place, first) is None


def test_what_is_too_large_is_not_put_there_and_said_to_be(monkeypatch):
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
def test_a_label_that_is_none_is_left_alone(text):
    store = Store()
    sender, receiver = transports(store)
    sender.publish(part(), 0)
    store.set("ticktree/slots/0", text)
    assert list(receiver.collect()) == []


def test_every_so_many_ticks_what_was_recorded_so_far_is_with_rank_0(runs, ticks):
    store = Store()
    first, second = start_gatherers(store, runs, 0, 1)
    for count in (3, 9):
        ticks[runs[1].id] = count
        second.look()
        first.look()
        assert list(gathered(runs[0].path)) == []
        assert missing(runs[0].path) == 1
        assert next(how_far(runs[0].path)).endswith("never")
    ticks[runs[1].id] = 12
    second.look()
    first.look()
    (path,) = gathered(runs[0].path)
    assert is_in_part(path)
    assert copied_run(path) == runs[1].id
    assert load(path).metadata["name"] == {"second"}
    assert load(path).metadata["unfinished"] == {True}
    assert missing(runs[0].path) == 0
    (progress,) = how_far(runs[0].path)
    assert progress.startswith("rank 1 on ")
    assert "up to tick 12, at " in progress
    assert how_far_of(path) == progress
    before = dict(store.kept)
    ticks[runs[1].id] = 21
    second.look()
    assert store.kept == before, "nine ticks later"


def test_what_comes_at_the_end_takes_the_place_of_what_came_before(runs, ticks):
    store = Store()
    first, second = start_gatherers(store, runs, 0, 1)
    ticks[runs[1].id] = 12
    second.look()
    first.look()
    keep(runs[0], runs[1].id, gzip.compress(Profile().to_json().encode()))
    ticks[runs[1].id] = 40
    second.look()
    first.look()  # late: it comes after the end
    (path,) = gathered(runs[0].path)
    assert not is_in_part(path)
    assert next(how_far(runs[0].path)).endswith("at its end")


def test_where_recording_began_anew_ticks_count_from_there(runs, ticks):
    store = Store()
    first, second = start_gatherers(store, runs, 0, 1)
    for count in (30, 4):
        ticks[runs[1].id] = count
        second.look()
        first.look()
        assert f"up to tick {count}," in next(how_far(runs[0].path))


def test_after_a_broken_connection_what_has_come_before_is_as_old_as_it_was(runs, ticks, monkeypatch):
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
    progress = list(how_far(runs[0].path))
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
    assert list(how_far(runs[0].path)) == progress, "nothing has come since"
    second.look()
    first.look()
    assert "up to tick 24" in next(how_far(runs[0].path))
    assert list(labels(store)) == [0], "in the place that it had"


def test_of_a_run_that_took_two_places_the_later_counts(runs, ticks):
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
        assert "up to tick 60," in next(how_far(runs[0].path))


def test_a_job_that_is_all_in_one_run_needs_no_store(runs):
    def connect(*_):
        raise AssertionError("there is nobody else")

    for number in range(2):
        note_rank(runs[0], number, 2, "here", 1)
    gatherer = RankGatherer(runs[0], 1, connect)
    assert [gatherer.look() for _ in range(3)] == [0.0, 0.0, 0.0]


def test_where_nobody_answers_it_is_tried_again_later_and_not_at_every_look(runs):
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


def test_ids_that_are_no_file_names_are_kept_apart_in_one_directory(runs):
    long = "a" * 300
    for run_id in ("../../x", "..", long + "1", long + "2"):
        keep(runs[0], run_id, gzip.compress(b"{}"))
    parts = gathered(runs[0].path)
    assert len(parts) == 4
    assert {path.parent for path in parts} == {runs[0].path / "job"}


def test_the_process_ends_when_it_is_told_to(runs):
    process = GathererProcess(10)
    process.end()  # nothing has begun
    process.begin(runs[0])
    pid = process._process.pid
    assert start_of(pid) is not None
    process.end()
    assert start_of(pid) is None
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


def test_the_process_ends_with_its_supervisor_however_that_ends(runs):
    command = [sys.executable, "-c", SUPERVISOR, str(runs[0].path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        pid = int(supervisor.stdout.readline())
        assert start_of(pid) is not None
        os.kill(supervisor.pid, signal.SIGKILL)
    until = time.monotonic() + 500
    while start_of(pid) is not None and time.monotonic() < until:
        time.sleep(0.05)
    assert start_of(pid) is None
