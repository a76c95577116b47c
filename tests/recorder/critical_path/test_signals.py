"""wakes and woken_by: which thread woke which, and after what wait."""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

import ticktree
from support.recorder.lockstep import Puppet
from ticktree.recorder import Channel
from ticktree.run.reading.image import Image
from ticktree.run.reading.signals import OTHER_NODES, critical_path, edges_of


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder(virtual_clock=True)
    yield recorder
    recorder.disable()


@pytest.fixture
def waker():
    puppet = Puppet("other")
    yield puppet
    puppet.end()


def edges(recorder):
    """(where it waited, channel, where it was signalled, count, waited, handed over) of each edge."""
    image = Image(recorder.image())
    names = {ref: image.text(node.name) if node.name else "" for ref, node in image.nodes()}
    return [
        (names[edge.node], edge.channel, names[edge.waker.node], edge.waits, edge.waited_ns, edge.latency_ns)
        for edge in edges_of(image)
    ]


def critical(recorder):
    """Nanoseconds by name of the node, threads together."""
    image = Image(recorder.image())
    names = {ref: image.text(node.name) if node.name else "" for ref, node in image.nodes()}
    found = {}
    for place, ns in critical_path(image).items():
        name = "elsewhere" if place == OTHER_NODES else names[place.node]
        found[name] = found.get(name, 0) + ns
    return found


def signal_in(recorder, section, channel, key=None):
    def order():
        with recorder.section(section):
            recorder.wakes(channel, key)

    return order


def losses(recorder):
    return dict(recorder.snapshot().losses)


def test_a_wait_that_a_signal_ended_is_recorded_with_its_signaller(recorder, waker):
    with recorder.section("wait", wait=True):
        recorder.advance(100)
        waker.do(signal_in(recorder, "work", "batch"))
        recorder.advance(7)
        recorder.woken_by("batch")
        recorder.advance(1000)
    assert edges(recorder) == [("wait", "batch", "work", 1, 107, 7)]


def test_a_signal_from_before_the_wait_is_counted_without_time(recorder, waker):
    waker.do(signal_in(recorder, "work", "batch"))
    recorder.advance(5)
    with recorder.section("wait", wait=True):
        recorder.advance(10)
        recorder.woken_by("batch")
    assert edges(recorder) == [("wait", "batch", "work", 1, 0, 0)]


def test_of_several_signals_the_last_counts(recorder, waker):
    with recorder.section("wait", wait=True):
        for _ in range(3):
            recorder.advance(10)
            waker.do(signal_in(recorder, "work", "batch"))
        recorder.advance(4)
        recorder.woken_by("batch")
    assert edges(recorder) == [("wait", "batch", "work", 1, 34, 4)]


def test_the_innermost_open_wait_is_what_waited_also_from_a_section_inside_it(recorder, waker):
    with recorder.section("outer", wait=True), recorder.section("inner", wait=True), recorder.section("x"):
        recorder.advance(3)
        waker.do(signal_in(recorder, "work", "batch"))
        recorder.woken_by("batch")
    assert edges(recorder) == [("inner", "batch", "work", 1, 3, 0)]


def test_where_no_wait_is_open_it_is_the_innermost_section(recorder, waker):
    with recorder.section("outer"), recorder.section("inner"):
        recorder.advance(3)
        waker.do(signal_in(recorder, "work", "batch"))
        recorder.woken_by("batch")
    assert edges(recorder) == [("inner", "batch", "work", 1, 3, 0)]


def test_one_wait_for_several_counts_the_time_of_each_once(recorder, waker):
    with recorder.section("wait", wait=True):
        recorder.advance(10)
        waker.do(signal_in(recorder, "work", "one"))
        recorder.advance(1)
        recorder.woken_by("one")
        recorder.advance(20)
        waker.do(signal_in(recorder, "work", "two"))
        recorder.advance(2)
        recorder.woken_by("two")
        recorder.woken_by("one")
    assert sorted(edges(recorder)) == [("wait", "one", "work", 2, 11, 1), ("wait", "two", "work", 1, 22, 2)]


def test_keys_distinguish_signals_of_one_name(recorder, waker):
    with recorder.section("wait", wait=True):
        recorder.advance(1)
        waker.do(signal_in(recorder, "first", "batch", 1))
        recorder.advance(1)
        waker.do(signal_in(recorder, "second", "batch", 2))
        recorder.woken_by("batch", 1)
    assert edges(recorder) == [("wait", "batch", "first", 1, 2, 1)]


def test_what_was_never_signalled_is_no_edge_and_no_loss(recorder):
    recorder.woken_by("never", 3)
    assert edges(recorder) == []
    assert losses(recorder) == {}


KEYS = [None, 0, 1, -1, 2**63 - 1, -(2**63), 2**63, 2**200, -(2**200), "", "a", "\ud800", b"", b"a", ()]
KEYS += [(1,), (1, 2), ((1,), 2), (1, (2,)), (None,), ("a", b"a"), ("ab", "c"), ("a", "bc")]


def test_every_key_has_a_channel_of_its_own(recorder):
    channel = Channel(recorder, "name")
    hashes = [channel.hash(key) for key in KEYS]
    assert all(hashes)
    assert len(set(hashes)) == len(KEYS)
    assert channel.hash(1) != Channel(recorder, "other name").hash(1)
    assert channel.hash(True) == channel.hash(1)
    assert channel.hash(enum.IntEnum("E", "one").one) == channel.hash(1)


def test_a_channel_is_the_same_in_every_process(recorder):
    code = (
        "import ticktree; from ticktree.recorder import Channel, Recorder;"
        "channel = Channel(Recorder(), 'name');"
        "print(channel.hash(('actor', 3, b'x')), channel.hash('text'))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    channel = Channel(recorder, "name")
    assert printed == {f"{channel.hash(('actor', 3, b'x'))} {channel.hash('text')}\n"}


class Hostile(int):
    def __index__(self):
        raise RuntimeError

    bit_length = to_bytes = __int__ = __index__


def deep():
    key = ()
    for _ in range(40):
        key = (key,)
    return key


@pytest.mark.parametrize("key", [1.5, Ellipsis, [1], {1: 2}, (1, [2]), deep(), float("nan")], ids=str)
def test_what_is_no_key_is_a_wrong_call(recorder, key):
    for call in (recorder.wakes, recorder.woken_by):
        with pytest.raises(TypeError, match="a key is None, an int, a str, bytes or a tuple of these, not"):
            call("batch", key)
    assert losses(recorder) == {}
    assert edges(recorder) == []


def test_keys_and_names_with_a_will_of_their_own_raise_nothing(recorder):
    for call, key in ((recorder.wakes, Hostile(3)), (recorder.woken_by, Hostile(2**70))):
        with suppress(TypeError):
            call("batch", key)
    for name in ("\ud800", "", "x" * 1000):
        recorder.wakes(name)
        recorder.woken_by(name)


def test_nothing_is_done_where_nothing_records():
    recorder = ticktree.Recorder(virtual_clock=True)
    recorder.disable()
    recorder.wakes("batch")
    recorder.woken_by("batch")
    recorder.enable()
    assert edges(recorder) == []
    assert critical(recorder) == {}
    recorder.disable()


def test_edges_past_the_cap_are_counted(recorder):
    for channel in range(1100):
        name = f"channel {channel}"
        recorder.wakes(name)
        recorder.woken_by(name)
    assert len(edges(recorder)) == 1024
    assert losses(recorder)["wakes_over_cap"] == 1100 - 1024


def test_a_signal_whose_place_was_taken_is_a_loss_when_it_is_asked_for(recorder):
    for key in range(5000):
        recorder.wakes("many", key)
    assert losses(recorder) == {}
    recorder.woken_by("many", 4999)
    assert len(edges(recorder)) == 1
    assert losses(recorder) == {}
    for key in range(100):
        recorder.woken_by("many", key)
    assert losses(recorder)["wakes_without_slot"] > 50


def test_reset_clears_the_edges_and_the_path(recorder, waker):
    test_a_wait_that_a_signal_ended_is_recorded_with_its_signaller(recorder, waker)
    recorder.reset()
    assert edges(recorder) == []
    assert critical(recorder) == {}
    with recorder.section("after"):
        recorder.wakes("batch")
        recorder.advance(10)
    assert critical(recorder) == {"": recorder.ticks - 10, "after": 10}


def test_the_path_goes_through_the_thread_that_was_waited_for(recorder, waker):
    section = recorder.section("work")
    with recorder.section("mine"):
        recorder.advance(50)
        recorder.wakes("go")
        with recorder.section("wait", wait=True):
            waker.do(section.__enter__)
            recorder.advance(100)
            waker.do(lambda: recorder.wakes("done"))
            recorder.advance(7)
            recorder.woken_by("done")
        recorder.advance(5)
    assert critical(recorder)["work"] == 100
    assert critical(recorder)["wait"] == 7
    assert sum(critical(recorder).values()) == recorder.ticks == 162


def test_a_path_of_very_many_places_keeps_the_largest_and_adds_up(recorder):
    for place in range(1000):
        with recorder.section(f"place {place}"):
            recorder.advance(1_000_000 if place % 100 == 0 else 1)
        recorder.wakes("batch")
    found = critical(recorder)
    assert sum(found.values()) == recorder.ticks
    assert len(found) <= 96
    assert {name: found.get(name) for name in (f"place {at}" for at in range(0, 1000, 100))} == {
        f"place {at}": 1_000_000 for at in range(0, 1000, 100)
    }
    assert 0 < found["elsewhere"] < 1000


def test_tasks_side_by_side_share_the_time_of_their_thread(recorder):
    def generator(name):
        with recorder.section(name):
            yield

    one, two = generator("one"), generator("two")
    recorder.wakes("start")
    next(one)
    next(two)
    recorder.advance(100)
    recorder.wakes("end")
    assert sum(critical(recorder).values()) == 100


def test_a_recorded_duration_is_no_part_of_the_path(recorder):
    recorder.record_duration("elsewhere", 5e-6)
    recorder.wakes("batch")
    recorder.record_duration("elsewhere", 5e-6)
    recorder.advance(10)
    assert critical(recorder) == {"": 10}


def test_a_submitted_call_that_was_waited_for_continues_the_path_of_who_gave_it(recorder):
    from concurrent.futures import ThreadPoolExecutor

    started, go = threading.Event(), threading.Event()

    def submitted():
        with recorder.section("submitted"):
            started.set()
            go.wait(60)
            recorder.wakes("submitted done")

    with ThreadPoolExecutor(1) as executor:
        executor.submit(lambda: None).result(60)
        with recorder.section("before"):
            recorder.advance(30)
            future = executor.submit(submitted)
            started.wait(60)
        with recorder.section("wait", wait=True):
            recorder.advance(100)
            go.set()
            future.result(60)
            recorder.woken_by("submitted done")
    assert critical(recorder) == {"before": 30, "submitted": 100}


def test_a_thread_that_goes_on_with_an_ended_ones_tree_has_a_path_of_its_own(recorder):
    def work(ns):
        with recorder.section("work"):
            recorder.advance(ns)
            recorder.wakes("done")

    for ns in (10, 200):
        thread = threading.Thread(target=work, args=(ns,))
        with recorder.section("wait", wait=True):
            thread.start()
            thread.join()
            recorder.woken_by("done")
    assert critical(recorder) == {"work": 210}
