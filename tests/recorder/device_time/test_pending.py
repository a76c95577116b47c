"""Queries of pending calls have no effect on the program."""

from __future__ import annotations

import gc
import threading
import weakref
from types import SimpleNamespace

import pytest

from ticktree.recorder.device_time import cuda


class Thing:
    """A large object of the program."""


def test_a_threads_objects_are_freed_after_it_has_polled():
    def asks():
        instance = Thing()
        cuda.poll()
        return weakref.ref(instance)

    gc.disable()  # it would free what hangs in a circle, some time
    try:
        assert asks()() is None
    finally:
        gc.enable()


def test_other_threads_objects_are_freed_after_a_poll():
    has_object, may_release = threading.Event(), threading.Event()
    references = []

    def work():
        instance = Thing()
        references.append(weakref.ref(instance))
        has_object.set()
        may_release.wait()

    thread = threading.Thread(target=work)
    thread.start()
    gc.disable()
    try:
        has_object.wait()
        cuda.poll()
        may_release.set()
        thread.join()
        assert references[0]() is None
    finally:
        gc.enable()


class Reached:
    """An event that was reached; another thread runs during its query."""

    def __init__(self, callback=lambda: None):
        self._others = callback

    def query(self):
        callback, self._others = self._others, lambda: None
        callback()
        return True

    def elapsed_time(self, _end):
        return 1e-3


class Books:
    """A fake recorder."""

    def __init__(self):
        self.booked = []
        self.lost = 0

    def book(self, _place, names, ns, clock):
        self.booked.append((names, ns, clock))
        return True

    def lose(self, _what):
        self.lost += 1


class Given:
    """A fake pool."""

    def __init__(self):
        self.pairs = []

    def give(self, pair):
        self.pairs.append(pair)


def test_a_call_that_two_threads_query_is_booked_once():
    lane, books, pool = cuda.DeviceLane(), Books(), Given()
    place = SimpleNamespace(recorder=books)
    for name in ("first", "second"):
        events = (Reached(), Reached(lambda: lane.resolve(2)))
        lane.append(cuda.DeviceCall(place, name, events, pool))
    lane.resolve(2)
    assert sorted(books.booked) == [(("first",), 1000, "device"), (("second",), 1000, "device")]
    assert len({id(pair) for pair in pool.pairs}) == 2
    assert (len(lane), books.lost) == (0, 0)


def test_a_call_whose_events_cannot_be_read_is_a_loss():
    class Broken(Reached):
        def elapsed_time(self, _end):
            raise RuntimeError("the device is in a bad state")

    lane, books = cuda.DeviceLane(), Books()
    lane.append(cuda.DeviceCall(SimpleNamespace(recorder=books), "only", (Broken(), Reached()), Given()))
    with pytest.raises(RuntimeError):
        lane.resolve(1)
    lane.give_up()
    assert (books.booked, books.lost) == ([], 1)
