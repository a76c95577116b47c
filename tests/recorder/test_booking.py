"""Durations that devices and other programs measured, booked below a place."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from support.recorder.queries import counts, losses, node, times
from ticktree.recorder import _native
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image


def in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def test_a_booked_call_is_below_its_place_and_covers_nothing(recorder):
    with recorder.section("forward"):
        recorder.advance(40)
        place = recorder.place()
    assert recorder.book(place, ("cuda:0",), 900, "device")
    booked = node(recorder, "forward/cuda:0@device")
    assert (booked.name, booked.clock, booked.count) == ("cuda:0", "device", 1)
    assert (booked.total_ns, booked.concurrent_ns, booked.stats.max_ns) == (900, 900, 900)
    assert times(recorder)["forward"] == node(recorder, "forward").self_ns == 40


def test_a_place_stays_valid_after_its_call_has_ended_and_others_are_open(recorder):
    for _ in range(3):
        with recorder.section("forward"):
            place = recorder.place()
        with recorder.section("backward"):
            recorder.book(place, ("cuda:0",), 5, "device")
    assert counts(recorder) == {"forward": 3, "backward": 3, "forward/cuda:0@device": 3}


def test_places_of_one_node_are_equal(recorder):
    with recorder.section("a"):
        first, again = recorder.place(), recorder.place()
        with recorder.section("b"):
            below = recorder.place()
    assert first == again
    assert hash(first) == hash(again)
    assert first != below
    assert first != "a"


def test_one_name_by_three_clocks_is_three_rows(recorder):
    with recorder.section("request"):
        place = recorder.place()
        recorder.record_duration("work", 3e-9)
    for clock, ns in (("host", 4), ("device", 20), ("remote", 300)):
        recorder.book(place, ("work",), ns, clock)
    rows = {key: child.total_ns for key, child in node(recorder, "request").children.items()}
    assert rows == {"work": 7, "work@device": 20, "work@remote": 300}


def test_a_name_that_ends_like_a_mark_is_no_other_clocks(recorder):
    with recorder.section("work@device"):
        recorder.advance(3)
    recorder.book(recorder.place(), ("work",), 20, "device")
    assert times(recorder) == {"work@device@host": 3, "work@device": 20}


def test_a_remote_tree_covers_as_much_as_it_declares(recorder):
    with recorder.section("request"):
        recorder.advance(100)
        place = recorder.place()
    recorder.book(place, ("server",), 60, "remote")
    recorder.book(place, ("server", "query"), 25, "remote", covered=25)
    server = node(recorder, "request/server@remote")
    assert (server.total_ns, server.self_ns, server.count) == (60, 35, 1)
    query = node(recorder, "request/server@remote/query@remote")
    assert (query.total_ns, query.concurrent_ns) == (25, 0)


def test_no_more_is_covered_than_there_is(recorder):
    place = recorder.place()
    recorder.book(place, ("server",), 60, "remote")
    recorder.book(place, ("server", "side by side"), 50, "remote", covered=50)
    recorder.book(place, ("server", "side by side"), 50, "remote", covered=50)
    recorder.book(place, ("too much covered",), 5, "remote", covered=10)
    server = node(recorder, "server@remote")
    assert (server.total_ns, server.self_ns) == (60, 0)
    assert node(recorder, "server@remote/side by side@remote").concurrent_ns == 40
    assert node(recorder, "too much covered@remote").concurrent_ns == 5


def test_another_threads_bookings_go_to_a_tree_of_its_own_at_the_same_place(recorder):
    with recorder.section("forward"):
        recorder.advance(40)
        place = recorder.place()
    recorder.book(place, ("cuda:0",), 900, "device")
    for _ in range(3):
        in_thread(recorder.book, place, ("cuda:0",), 100, "device")
    booked = node(recorder, "forward/cuda:0@device")
    assert (booked.count, booked.total_ns, booked.concurrent_ns) == (4, 1200, 1200)
    assert times(recorder)["forward"] == 40
    main_count, *other_counts = [share.count for _, share in sorted(booked.by_thread.items())]
    assert (main_count, sum(other_counts)) == (1, 3)  # a thread that has ended may give its tree to the next


def test_another_thread_continues_where_it_was(recorder):
    with recorder.section("forward"):
        place = recorder.place()

    def work():
        with recorder.section("own"):
            recorder.advance(7)
            recorder.book(place, ("cuda:0",), 100, "device")
            with recorder.section("inner"):
                recorder.advance(2)

    in_thread(work)
    assert times(recorder) == {"forward": 0, "forward/cuda:0@device": 100, "own": 9, "own/inner": 2}


def test_nothing_is_booked_where_nothing_is_recorded(recorder):
    place = recorder.place()
    recorder.disable()
    assert not recorder.book(place, ("x",), 1, "device")
    nowhere = recorder.place()
    recorder.enable()
    assert not recorder.book(nowhere, ("x",), 1, "device")
    assert counts(recorder) == {}


def test_a_place_stays_valid_after_a_reset(recorder):
    with recorder.section("forward"):
        place = recorder.place()
    recorder.reset()
    recorder.book(place, ("cuda:0",), 9, "device")
    assert counts(recorder)["forward/cuda:0@device"] == 1


@pytest.mark.parametrize("ns", [-1, 1 << 63, "soon", None, float("nan"), float("inf")], ids=repr)
def test_a_booked_duration_that_cannot_be_is_a_loss(recorder, ns):
    recorder.enable()
    assert not recorder.book(recorder.place(), ("x",), ns, "device")
    assert losses(recorder) == {"bad_values": 1}


def test_what_cannot_be_booked_is_refused(recorder):
    recorder.enable()
    place = recorder.place()
    with pytest.raises(ValueError, match="1 to 64 names"):
        recorder.book(place, (), 1)
    with pytest.raises(ValueError, match="1 to 64 names"):
        recorder.book(place, ("x",) * 65, 1)
    with pytest.raises(ValueError, match="of this recorder"):
        ticktree.Recorder(virtual_clock=True).book(place, ("x",), 1)
    with pytest.raises(KeyError, match="sundial"):
        recorder.book(place, ("x",), 1, "sundial")


def test_past_the_cap_of_nodes_a_booked_call_is_a_loss():
    recorder = _native.Recorder(virtual_clock=True)
    recorder.open(node_cap=2)
    recorder.enable()
    with recorder.section("a"):
        place = recorder.place()
    recorder.book(place, ("cuda:0",), 1, "device")
    assert Image(recorder.image()).header.losses[layout.LOSSES.index("calls_over_node_cap")] == 1


acts = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), st.sampled_from("abc")),
        st.tuples(st.just("leave"), st.none()),
        st.tuples(st.just("advance"), st.integers(0, 1000)),
        st.tuples(st.just("book"), st.tuples(st.sampled_from("abx"), st.integers(0, 10**6), st.booleans())),
    ),
    max_size=40,
)


class Program:
    """Plays acts on a recorder; books only if it is to."""

    def __init__(self, clock=None):
        self.recorder = ticktree.Recorder(virtual_clock=True)
        self.clock = clock
        self.places = []
        self.opened = []
        self.booked = []

    def enter(self, name):
        self.opened.append(self.recorder.section(f"s{name}").__enter__())
        self.places.append(self.recorder.place())

    def leave(self, _):
        if self.opened:
            self.opened.pop().__exit__(None, None, None)

    def advance(self, ns):
        self.recorder.advance(ns)

    def book(self, value):
        name, ns, elsewhere = value
        if self.clock and self.places:
            self.booked.append(ns)
            call = (self.places[ns % len(self.places)], (name, name), ns, self.clock)
            in_thread(self.recorder.book, *call) if elsewhere else self.recorder.book(*call)

    def play(self, program):
        for act, value in program:
            getattr(self, act)(value)
        return self.recorder.snapshot()


@settings(max_examples=40, deadline=None)
@given(acts, st.sampled_from(["host", "device", "remote"]))
def test_whatever_is_booked_the_accounts_of_sections_stay_exact(program, clock):
    booking = Program(clock)
    profile, alone = booking.play(program), Program().play(program)
    profile.check()
    expected = {path: node.total_ns for path, _, node in alone.root.walk()}
    nodes = {path: node for path, _, node in profile.root.walk()}
    assert {path: nodes.pop(path).total_ns for path in expected} == expected
    assert sum(booked_node.self_ns for booked_node in nodes.values()) == sum(booking.booked)
    assert sum(booked_node.count for booked_node in nodes.values()) == len(booking.booked)
