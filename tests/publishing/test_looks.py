"""Looks at a run, on a clock of the test's: who looks, how often, and at how much."""

from __future__ import annotations

import pytest

import ticktree
from ticktree.profile import Profile
from ticktree.publishing.looks import Looks, PublishedSections


class Run:
    """A run of a recorder, whose reading takes some time."""

    def __init__(self) -> None:
        self.recorder = ticktree.Recorder(virtual_clock=True)
        self.now_s = 0.0
        self.takes_s = 0.0
        self.read = 0
        self.is_gone = False

    def profile(self) -> Profile:
        self.now_s += self.takes_s
        self.read += 1
        if self.is_gone:
            raise OSError("no such file")
        return self.recorder.snapshot()

    def looks(self) -> Looks:
        return Looks(self, lambda: self.now_s, lambda: self.now_s, lambda: round(self.now_s * 1e9))

    def call(self, name: str, ns: int = 1000) -> None:
        with self.recorder.section(name):
            self.recorder.advance(ns)


def test_reading_takes_a_fifth_of_a_core_at_most_whoever_asks_how_often() -> None:
    run = Run()
    looks = run.looks()
    run.takes_s = 2.0
    first = looks.latest()
    assert looks.latest() is first
    run.now_s = 9.9  # it began at 0 and ended at 2
    assert looks.latest() is first
    run.now_s = 10.0
    assert looks.latest() is not first
    assert run.read == 2


def test_time_spent_on_what_was_read_counts_as_well() -> None:
    run = Run()
    looks = run.looks()
    first = looks.latest()
    looks.charge(1.0)
    run.now_s = 3.9
    assert looks.latest() is first
    run.now_s = 4.0
    assert looks.latest() is not first


def test_while_it_cannot_be_read_the_last_look_holds() -> None:
    run = Run()
    looks = run.looks()
    run.is_gone = True
    assert looks.latest() is None
    run.is_gone = False
    first = looks.latest()
    run.is_gone = True
    assert looks.latest() is first


def test_after_the_last_look_there_is_no_other() -> None:
    run = Run()
    looks = run.looks()
    run.call("a")
    looks.latest()
    run.call("a")
    last = looks.over(run.recorder.snapshot())
    run.call("a")
    assert looks.latest() is last
    assert last.profile.root.at("a").count == 2


def test_recording_that_begins_anew_is_another_era() -> None:
    run = Run()
    looks = run.looks()
    for name in "ab":
        run.call(name)
    eras = [looks.latest().era]
    run.call("a")
    eras.append(looks.latest().era)
    run.recorder.reset()
    run.call("a")
    eras += [looks.latest().era, looks.latest().era]
    assert eras == [0, 0, 1, 1]


def test_of_too_many_sections_the_longest_are_told_of_and_those_that_once_were() -> None:
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
    look = run.looks().latest()
    assert (len(look.paths), look.left_out, look.left_out_self_ns) == (count, 0, 0)
