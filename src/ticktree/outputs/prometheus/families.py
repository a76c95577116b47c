"""Metrics: what a profile has for Prometheus, before it is written in one of its formats."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ticktree.outputs.prometheus.histograms import Durations
from ticktree.outputs.prometheus.seconds import seconds
from ticktree.outputs.writing.literal import literal
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile
from ticktree.profile.metadata import ordered

Labels: TypeAlias = Mapping[str, str]
Samples: TypeAlias = list[tuple[Labels, float]]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with all its series.

    Attributes:
        name: after the prefix that all have.
        kind: as Prometheus calls it.
        about: what it is, in a few words.
        samples: of each series its labels and its value.
    """

    name: str
    kind: str
    about: str
    samples: Samples


def families(profile: Profile, paths: Container[str] | None = None) -> Iterator[Family | Durations]:
    """Yield every metric that the profile has a value of.

    Args:
        profile: what was recorded.
        paths: the sections to tell of; None for all. The run itself, whose path is "", is always told of.
    """
    yield from _sections(profile, paths)
    yield from _loops(profile)
    yield from _gauges(profile)
    lost: Samples = [({"what": literal(what)}, count) for what, count in sorted(profile.losses.items())]
    yield Family("not_recorded_total", "counter", "What could not be recorded.", lost)


def facts(profile: Profile) -> Family:
    """Return what is known of the program and the machine."""
    known: Samples = [
        ({"key": literal(key), "value": literal(str(value))}, 1)
        for key in sorted(profile.metadata)
        for value in ordered(profile.metadata[key])
    ]
    return Family("metadata", "gauge", "What is known of the program and the machine; always 1.", known)


def _sections(profile: Profile, paths: Container[str] | None) -> Iterator[Family | Durations]:
    # A path has its backslashes doubled already: visible, it is still no other's.
    every = sorted(
        (visible(path), node)
        for path, depth, node in profile.root.walk()
        if paths is None or not depth or path in paths
    )
    below = [(path, node) for path, node in every if path]

    def of(value: str, chosen: list[tuple[str, Node]]) -> Samples:
        return [({"path": path}, seconds(getattr(node, value))) for path, node in chosen]

    calls: Samples = [({"path": path}, node.count) for path, node in below]
    yield Family("section_calls_total", "counter", "Completed calls of a section.", calls)
    yield Family(
        "section_seconds_total",
        "counter",
        "Time in a section; path is empty for the run.",
        of("total_ns", every),
    )
    yield Family(
        "section_own_seconds_total",
        "counter",
        "Time in a section and in none below it.",
        of("self_ns", every),
    )
    waits = [(path, node) for path, node in below if node.wait]
    yield Family(
        "section_waited_seconds_total", "counter", "Own time of a section that waits.", of("self_ns", waits)
    )
    beside = [(path, node) for path, node in below if node.concurrent_ns]
    yield Family(
        "section_concurrent_seconds",
        "gauge",
        "Time of a section that does not count against what is around it, because it ran beside.",
        of("concurrent_ns", beside),
    )
    yield Durations(
        "section_call_seconds",
        "How long completed calls of a section took.",
        [({"path": path}, node.stats) for path, node in below],
    )


def _loops(profile: Profile) -> Iterator[Family | Durations]:
    loops = [({"loop": visible(path)}, profile.loops[path]) for path in sorted(profile.loops)]

    def counter(name: str, about: str, value: str) -> Family:
        return Family(name, "counter", about, [(labels, getattr(loop, value)) for labels, loop in loops])

    yield counter("loop_ticks_total", "Completed ticks, warm-up included.", "ticks")
    yield counter("loop_warmup_ticks_total", "Completed ticks taken for warm-up.", "warmup_ticks")
    yield counter("loop_incomplete_ticks_total", "Ticks cut short.", "incomplete")
    with_rate = [(labels, loop) for labels, loop in loops if loop.hz]
    missed: Samples = [(labels, loop.missed) for labels, loop in with_rate]
    yield Family("loop_missed_ticks_total", "counter", "Ticks over their budget.", missed)
    budgets: Samples = [(labels, seconds(loop.budget_ns)) for labels, loop in with_rate if loop.budget_ns]
    yield Family("loop_budget_seconds", "gauge", "Time that a tick may take.", budgets)
    stats = [(labels, loop.stats) for labels, loop in loops]
    yield Durations("loop_tick_seconds", "How long ticks took after warm-up.", [*stats])


def _gauges(profile: Profile) -> Iterator[Family]:
    gauges = [(literal(name), profile.gauges[name]) for name in sorted(profile.gauges)]
    for value, about in (("last", "The latest reading"), ("min", "The smallest"), ("max", "The largest")):
        readings: Samples = [({"gauge": name}, float(getattr(gauge, value))) for name, gauge in gauges]
        ending = "" if value == "last" else f"_{value}"
        # Not "gauge": Prometheus wants no kind of metric in a metric's name.
        yield Family(f"reading{ending}", "gauge", f"{about} of a value that the program reports.", readings)
    counts: Samples = [({"gauge": name}, gauge.count) for name, gauge in gauges]
    yield Family("readings_total", "counter", "Readings of a value that the program reports.", counts)
