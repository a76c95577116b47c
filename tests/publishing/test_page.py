"""The page that Prometheus reads: which format, and what it keeps of the snapshots before."""

from __future__ import annotations

import pytest

import ticktree
from ticktree.profile import Node, Profile
from ticktree.publishing.prometheus import Page
from ticktree.publishing.snapshots import RunSnapshots

PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
REST = "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


class FakeRun:
    """A run that is what a test says."""

    def __init__(self, profile: Profile) -> None:
        self.current = profile
        self.reads = 0

    def profile(self) -> Profile:
        self.reads += 1
        return self.current


def recorded() -> Profile:
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("a"):
        recorder.advance(1000)
    return recorder.snapshot()


def page_of(run: FakeRun) -> Page:
    return Page(RunSnapshots(run, lambda: 0.0), "run-1", lambda: 0.0)


@pytest.mark.parametrize(
    ("accepted", "is_protobuf"),
    [
        ("", False),
        ("*/*", False),
        (f"{OPENMETRICS},{OPENMETRICS};q=0.75,{REST}", False),  # what Prometheus says
        (f"{PROTOBUF},{OPENMETRICS};q=0.8,{REST}", True),  # where it keeps native histograms
        (f"text/plain;q=0.9,{PROTOBUF};q=0.4", False),
        (PROTOBUF.replace("delimited", "text"), False),
        (f"{PROTOBUF};q=x", False),
    ],
)
def test_the_format_is_the_requested_one(accepted: str, is_protobuf: bool) -> None:
    kind, content = page_of(FakeRun(recorded())).render(accepted)
    assert kind.startswith("application/vnd.google.protobuf" if is_protobuf else "text/plain")
    assert (b"ticktree_section_call_nanoseconds" in content) == is_protobuf
    assert b"ticktree_section_call_seconds" in content


def values(page: Page) -> dict[str, float]:
    lines = page.render("")[1].decode().splitlines()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
    }


def test_a_falling_time_stays_at_its_maximum_until_recording_restarts() -> None:
    def open_for(ns: int) -> Profile:
        return Profile(Node(name="root", children={"a": Node(name="a", self_ns=ns)}))

    run = FakeRun(open_for(9_000_000_000))
    page = page_of(run)
    sums = []
    for profile in (
        run.current,
        open_for(7_000_000_000),
        open_for(8_000_000_000),
        Profile.empty(),
        open_for(10),
    ):
        run.current = profile
        sums.append(values(page).get('ticktree_section_own_seconds_total{path="a"}'))
    assert sums == [9.0, 9.0, 9.0, None, 1e-08]


def test_before_there_is_anything_to_read_the_page_is_empty() -> None:
    class Gone:
        def profile(self) -> Profile:
            raise OSError

    assert page_of(Gone()).render("")[1] == b""


def test_how_much_is_left_out_is_on_it() -> None:
    metrics = values(page_of(FakeRun(recorded())))
    assert metrics["ticktree_sections_left_out{}"] == 0
    assert metrics["ticktree_left_out_own_seconds_total{}"] == 0
    assert metrics["ticktree_read_time_seconds{}"] > 1e9
