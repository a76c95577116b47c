"""Snapshots of a run, on a clock of the test's: how often they are taken, and of how much."""

from __future__ import annotations

import pytest

import ticktree
from ticktree.profile import Profile
from ticktree.publishing.snapshots import PublishedSections, RunSnapshots


class Run:
    """A run of a recorder, whose reading takes some time."""

    def __init__(self) -> None:
        self.recorder = ticktree.Recorder(virtual_clock=True)
        self.now_s = 0.0
        self.takes_s = 0.0
        self.reads = 0
        self.is_deleted = False

    def profile(self) -> Profile:
        self.now_s += self.takes_s
        self.reads += 1
        if self.is_deleted:
            raise OSError("no such file")
        return self.recorder.snapshot()

    def snapshots(self) -> RunSnapshots:
        return RunSnapshots(self, lambda: self.now_s, lambda: self.now_s, lambda: round(self.now_s * 1e9))

    def call(self, name: str, ns: int = 1000) -> None:
        with self.recorder.section(name):
            self.recorder.advance(ns)


def test_reading_takes_at_most_a_fifth_of_a_core() -> None:
    run = Run()
    snapshots = run.snapshots()
    run.takes_s = 2.0
    first = snapshots.latest()
    assert snapshots.latest() is first
    run.now_s = 9.9  # it began at 0 and ended at 2
    assert snapshots.latest() is first
    run.now_s = 10.0
    assert snapshots.latest() is not first
    assert run.reads == 2


def test_time_spent_on_what_was_read_counts_as_well() -> None:
    run = Run()
    snapshots = run.snapshots()
    first = snapshots.latest()
    snapshots.charge(1.0)
    run.now_s = 3.9
    assert snapshots.latest() is first
    run.now_s = 4.0
    assert snapshots.latest() is not first


def test_while_a_run_is_unreadable_the_last_snapshot_stays() -> None:
    run = Run()
    snapshots = run.snapshots()
    run.is_deleted = True
    assert snapshots.latest() is None
    run.is_deleted = False
    first = snapshots.latest()
    run.is_deleted = True
    assert snapshots.latest() is first


def test_the_final_snapshot_stays_the_latest() -> None:
    run = Run()
    snapshots = run.snapshots()
    run.call("a")
    snapshots.latest()
    run.call("a")
    last = snapshots.finish(run.recorder.snapshot())
    run.call("a")
    assert snapshots.latest() is last
    assert last.profile.root.at("a").count == 2


def test_restarted_recording_increments_the_generation() -> None:
    run = Run()
    snapshots = run.snapshots()
    for name in "ab":
        run.call(name)
    generations = [snapshots.latest().generation]
    run.call("a")
    generations.append(snapshots.latest().generation)
    run.recorder.reset()
    run.call("a")
    generations += [snapshots.latest().generation, snapshots.latest().generation]
    assert generations == [0, 0, 1, 1]


def test_of_too_many_sections_the_longest_and_those_published_before_are_published() -> None:
    run = Run()
    for number in range(5):
        run.call(f"s{number}", 1000 * (number + 1))
    choice = PublishedSections(3)
    choice.extend(run.recorder.snapshot())
    assert choice.paths == {"s4", "s3", "s2"}
    run.call("s0", 10**9)
    profile = run.recorder.snapshot()
    choice.extend(profile)
    assert choice.paths == {"s4", "s3", "s2"}
    self_ns = sum(profile.root.at(path).self_ns for path in choice.paths)
    left_out, left_out_self_ns = choice.left_out(profile)
    assert (left_out, self_ns + left_out_self_ns) == (2, profile.root.total_ns - profile.root.self_ns)


@pytest.mark.parametrize("count", [0, 3])
def test_where_there_is_room_nothing_is_left_out(count: int) -> None:
    run = Run()
    for number in range(count):
        run.call(str(number))
    snapshot = run.snapshots().latest()
    assert (len(snapshot.paths), snapshot.left_out, snapshot.left_out_self_ns) == (count, 0, 0)
