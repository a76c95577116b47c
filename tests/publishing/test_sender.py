"""The end of a run that is sent to a collector: it is not put off for one that does not answer."""

from __future__ import annotations

import threading
import time

import ticktree
from support.otlp_collector import Answer, Collector
from ticktree.publishing import otlp, otlp_destination
from ticktree.publishing.otlp import RequestBuilder, Sender
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


def start_sender(
    collector: Collector, warnings: list[str], every_s: float = 0.05
) -> tuple[Sender, RunSnapshots]:
    snapshots = RunSnapshots(Run(), lambda: 0.0)
    collectors = Destination.of(collector.url, {})
    sender = Sender(collectors, every_s, snapshots, RequestBuilder(10**18, {}), warnings.append)
    sender.begin()
    return sender, snapshots


def test_a_silent_collector_delays_the_end_by_a_limited_time_and_causes_a_warning(
    collector: Collector, monkeypatch
) -> None:
    monkeypatch.setattr(otlp, "LAST_TIMEOUT_S", 0.2)
    monkeypatch.setattr(otlp_destination, "_DEFAULT_TIMEOUT_S", 1000.0)
    release = threading.Event()
    collector.answers = [Answer(silent_until=release)] * 100
    warnings: list[str] = []
    sender, snapshots = start_sender(collector, warnings)
    collector.wait_for(1)
    started_s = time.monotonic()
    sender.end(snapshots.latest())
    sender.wait()
    assert (
        time.monotonic() - started_s < 50
    )  # it would be waited for until the collector gives up, after 60 s
    assert warnings == [
        f"--otlp {collector.url}/v1/metrics: no answer in time; it may not have the last totals"
    ]
    release.set()


def test_the_last_snapshot_is_sent_at_once_and_every_snapshot_once(collector: Collector) -> None:
    warnings: list[str] = []
    sender, snapshots = start_sender(collector, warnings, every_s=3600.0)
    last = snapshots.finish(Run().profile())
    sender.end(last)
    sender.wait()
    assert [len(collector.taken), warnings] == [1, []]
    sender, snapshots = start_sender(collector, warnings)
    snapshots.finish(Run().profile())
    collector.wait_for(2)
    sender.end(snapshots.latest())
    sender.wait()
    assert [len(collector.taken), warnings] == [2, []]


def test_without_a_last_snapshot_the_newest_is_sent(collector: Collector) -> None:
    warnings: list[str] = []
    sender, _ = start_sender(collector, warnings, every_s=3600.0)
    sender.end(None)
    sender.wait()
    assert [len(collector.taken), warnings] == [1, []]


def test_a_bug_in_publishing_is_a_warning_and_raises_nothing(collector: Collector) -> None:
    warnings: list[str] = []
    publisher = Publisher(Destination.of(collector.url, {}), 1.0, None, {}, warnings.append)
    publisher.begin(object())  # no run
    publisher.over(None)
    publisher.close()
    assert len(warnings) == 1
    assert warnings[0].startswith("the run is not published: ")
