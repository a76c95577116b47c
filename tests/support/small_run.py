"""A small run with a timeline: two threads, tasks, a loop at a rate, durations measured elsewhere, a gauge."""

from __future__ import annotations

import threading

import ticktree

MS = 1_000_000


def recorded(events: int = 1000, rounds: int = 6) -> ticktree.Recorder:
    """A recorder that has recorded it, by a virtual clock."""
    recorder = ticktree.Recorder(virtual_clock=True, timeline=events)

    def load() -> None:
        for _ in range(3):
            with recorder.section("load"):
                recorder.advance(2 * MS)

    for number in recorder.loop("control", iterable=range(rounds), hz=100):
        with recorder.section("observe"):
            recorder.advance(3 * MS)
        with recorder.section("act"):
            recorder.advance(2 * MS)
            recorder.record_duration("latency", (number + 1) * 0.001)
            with recorder.section("send", wait=True):
                recorder.advance((number + 1) * MS)
        if number == 2:
            with recorder.section("loading"):
                thread = threading.Thread(target=load, name="loader")
                thread.start()
                thread.join()
    recorder.gauge("queue", 3.5)
    recorder.gauge("queue", 1.5)
    return recorder
