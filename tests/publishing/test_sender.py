"""The end of a run that is sent to a collector: it is not put off for one that does not answer."""

from __future__ import annotations

import threading
import time

import ticktree
from support.otlp_collector import Answer, Collector
from ticktree.publishing import otlp, otlp_destination
from ticktree.publishing.otlp import Points, Sender
from ticktree.publishing.otlp_destination import Destination
from ticktree.publishing.publisher import Publisher
from ticktree.publishing.snapshots import RunSnapshots


class Run:
    def __init__(self) -> None:
        self.recorder = ticktree.Recorder(virtual_clock=True)

    def profile(self):
        with self.recorder.section("a"):
            self.recorder.advance(1000)
        return self.recorder.snapshot()


def begun(collector: Collector, said: list[str], every_s: float = 0.05) -> tuple[Sender, RunSnapshots]:
    snapshots = RunSnapshots(Run(), lambda: 0.0)
    collectors = Destination.of(collector.url, {})
    one = Sender(collectors, every_s, snapshots, Points(10**18, {}), said.append)
    one.begin()
    return one, snapshots


def test_a_collector_that_does_not_answer_puts_the_end_off_by_so_much_and_it_is_said(
    collector: Collector, monkeypatch
) -> None:
    monkeypatch.setattr(otlp, "LAST_PATIENCE_S", 0.2)
    monkeypatch.setattr(otlp_destination, "_PATIENCE_S", 1000.0)
    never = threading.Event()
    collector.answers = [Answer(silent_until=never)] * 100
    said: list[str] = []
    one, snapshots = begun(collector, said)
    collector.wait_for(1)
    began_s = time.monotonic()
    one.end(snapshots.latest())
    one.wait()
    assert time.monotonic() - began_s < 50  # it would be waited for until the collector gives up, after 60 s
    assert said == [f"--otlp {collector.url}/v1/metrics: no answer in time; it may not have the last totals"]
    never.set()


def test_the_last_look_is_sent_at_once_and_each_look_once(collector: Collector) -> None:
    said: list[str] = []
    one, snapshots = begun(collector, said, every_s=3600.0)
    last = snapshots.over(Run().profile())
    one.end(last)
    one.wait()
    assert [len(collector.taken), said] == [1, []]
    one, snapshots = begun(collector, said)
    snapshots.over(Run().profile())
    collector.wait_for(2)
    one.end(snapshots.latest())
    one.wait()
    assert [len(collector.taken), said] == [2, []]


def test_without_a_last_look_the_newest_is_sent(collector: Collector) -> None:
    said: list[str] = []
    one, _ = begun(collector, said, every_s=3600.0)
    one.end(None)
    one.wait()
    assert [len(collector.taken), said] == [1, []]


def test_a_mistake_of_ours_is_said_and_raised_to_nobody(collector: Collector) -> None:
    said: list[str] = []
    publisher = Publisher(Destination.of(collector.url, {}), 1.0, None, {}, said.append)
    publisher.begin(object())  # no run
    publisher.over(None)
    publisher.close()
    assert len(said) == 1
    assert said[0].startswith("the run is not published: ")
