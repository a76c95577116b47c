"""Prometheus's text format: counters, gauges and histograms of a run, as it is at this moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ticktree.outputs.literal import literal
from ticktree.outputs.octaves import cumulative, longest_ns, octaves
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.visible import visible
from ticktree.profile import Loop, Node, Profile, Stats
from ticktree.profile.metadata import ordered

_SECOND = 1_000_000_000

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Family:
    """A metric with all its series.

    Attributes:
        name: after the prefix that all have.
        kind: as Prometheus calls it.
        about: what it is, in a few words.
        series: of each the end of its name, its labels and its value.
    """

    name: str
    kind: str
    about: str
    series: Iterable[tuple[str, Labels, str]]


def render(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - a program reads all or nothing
    """Return every metric that the profile has a value of, in UTF-8; what was not measured has no series."""
    return "".join(line for family in _families(profile) for line in _lines(family)).encode()


def _lines(family: _Family) -> Iterator[str]:
    name = f"ticktree_{family.name}"
    for number, (ending, labels, value) in enumerate(family.series):
        if not number:
            yield f"# HELP {name} {family.about}\n# TYPE {name} {family.kind}\n"
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{ending}{{{inner}}} {value}\n"


def _escaped(text: str) -> str:
    # Line ends are escapes already: labels are plainly visible.
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _families(profile: Profile) -> Iterator[_Family]:
    yield from _sections(profile)
    yield from _loops(profile)
    yield from _gauges(profile)
    lost = [("", {"what": literal(what)}, str(count)) for what, count in sorted(profile.losses.items())]
    yield _Family("not_recorded_total", "counter", "What could not be recorded.", lost)
    facts = [
        ("", {"key": literal(key), "value": literal(str(value))}, "1")
        for key in sorted(profile.metadata)
        for value in ordered(profile.metadata[key])
    ]
    yield _Family("metadata", "gauge", "What is known of the program and the machine; always 1.", facts)


def _sections(profile: Profile) -> Iterator[_Family]:
    # A path has its backslashes doubled already: visible, it is still no other's.
    every = sorted((visible(path), node) for path, _, node in profile.root.walk())
    below = [(path, node) for path, node in every if path]

    def of(value: str, chosen: list[tuple[str, Node]]) -> list[tuple[str, Labels, str]]:
        return [("", {"path": path}, _seconds(getattr(node, value))) for path, node in chosen]

    calls = [("", {"path": path}, str(node.count)) for path, node in below]
    yield _Family("section_calls_total", "counter", "Completed calls of a section.", calls)
    yield _Family(
        "section_seconds_total",
        "counter",
        "Time in a section; path is empty for the run.",
        of("total_ns", every),
    )
    yield _Family(
        "section_own_seconds_total", "counter", "Time in a section and in none below it.", of("own_ns", every)
    )
    beside = [(path, node) for path, node in below if node.concurrent_ns]
    yield _Family(
        "section_concurrent_seconds",
        "gauge",
        "Time of a section that does not count against what is around it, because it ran beside.",
        of("concurrent_ns", beside),
    )
    stats = {path: node.stats for path, node in below}
    yield _histogram("section_call_seconds", "How long completed calls of a section took.", "path", stats)


def _loops(profile: Profile) -> Iterator[_Family]:
    loops = {visible(path): profile.loops[path] for path in sorted(profile.loops)}

    def counter(name: str, about: str, value: str) -> _Family:
        counted = [("", {"loop": path}, str(getattr(loop, value))) for path, loop in loops.items()]
        return _Family(name, "counter", about, counted)

    yield counter("loop_ticks_total", "Completed ticks, warm-up included.", "ticks")
    yield counter("loop_warmup_ticks_total", "Completed ticks taken for warm-up.", "warmup_ticks")
    yield counter("loop_incomplete_ticks_total", "Ticks cut short.", "incomplete")
    with_rate = {path: loop for path, loop in loops.items() if loop.hz}
    missed = [("", {"loop": path}, str(loop.missed)) for path, loop in with_rate.items()]
    yield _Family("loop_missed_ticks_total", "counter", "Ticks over their budget.", missed)
    budgets = [("", {"loop": path}, _budget(loop)) for path, loop in with_rate.items() if loop.budget_ns]
    yield _Family("loop_budget_seconds", "gauge", "Time that a tick may take.", budgets)
    stats = {path: loop.stats for path, loop in loops.items()}
    yield _histogram("loop_tick_seconds", "How long ticks took after warm-up.", "loop", stats)


def _budget(loop: Loop) -> str:
    return _seconds(loop.budget_ns or 0)


def _gauges(profile: Profile) -> Iterator[_Family]:
    gauges = [(literal(name), profile.gauges[name]) for name in sorted(profile.gauges)]
    for value, about in (("last", "The latest reading"), ("min", "The smallest"), ("max", "The largest")):
        readings = [("", {"gauge": name}, repr(float(getattr(gauge, value)))) for name, gauge in gauges]
        ending = "" if value == "last" else f"_{value}"
        # Not "gauge": Prometheus wants no kind of metric in a metric's name.
        yield _Family(f"reading{ending}", "gauge", f"{about} of a value that the program reports.", readings)
    counts = [("", {"gauge": name}, str(gauge.count)) for name, gauge in gauges]
    yield _Family("readings_total", "counter", "Readings of a value that the program reports.", counts)


def _histogram(name: str, about: str, label: str, stats: Mapping[str, Stats]) -> _Family:
    """Return a classic histogram of every entry of which it is known how long single calls took.

    All have the limits of all, without which Prometheus cannot add them up.
    """
    known = {key: one for key, one in stats.items() if one.count and one.is_known}
    limits = octaves(one.histogram for one in known.values())

    def series() -> Iterator[tuple[str, Labels, str]]:
        for key, one in known.items():
            for octave, count in zip(limits, cumulative(one.histogram, limits), strict=True):
                yield "_bucket", {label: key, "le": _seconds(longest_ns(octave))}, str(count)
            yield "_bucket", {label: key, "le": "+Inf"}, str(one.count)
            yield "_sum", {label: key}, _seconds(one.sum_ns)
            yield "_count", {label: key}, str(one.count)

    return _Family(name, "histogram", about, series())


def _seconds(ns: int) -> str:
    """Return nanoseconds as seconds, to the last digit that a reader's float can hold."""
    return repr(ns / _SECOND)
