"""Prometheus: counters, gauges and histograms of a run, as text and as protocol buffers.

Prometheus requests protocol buffers if it stores native histograms. Then each classic histogram in seconds, with the
names and limits of the text format, comes with a native one in nanoseconds: schema 5, with 32 buckets per octave,
which are exactly ticktree's buckets; in seconds, these would be split in two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

from ticktree.outputs import protobuf as pb
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing.visible import literal, visible
from ticktree.profile import Profile, Stats
from ticktree.profile.histogram import BUCKETS_PER_OCTAVE
from ticktree.profile.metadata import ordered

_SECOND = 1_000_000_000


def seconds(ns: int) -> float:
    """Return nanoseconds as seconds, with all digits that a reader's float can represent."""
    return ns / _SECOND


class Durations:
    """One histogram per entry whose durations of single calls are known.

    All of them have the same limits, without which Prometheus cannot sum them.
    """

    kind = "histogram"

    def __init__(self, name: str, about: str, label: str, entries: Iterable[tuple[str, Any]]) -> None:
        self.name, self.about = name, about
        candidates = (({label: key}, entry.stats) for key, entry in entries)
        self.samples: list[tuple[Labels, Stats]] = [
            (labels, stats) for labels, stats in candidates if stats.count and stats.is_known
        ]
        # Those with values, and those between; octave k begins at 2**k.
        buckets = (bucket for _, stats in self.samples for bucket in stats.histogram.buckets)
        octaves = [bucket // BUCKETS_PER_OCTAVE for bucket in buckets]
        self._octaves = range(min(octaves), max(octaves) + 1) if octaves else range(0)

    def buckets(self, stats: Stats) -> Iterator[tuple[float, int]]:
        """Yield limits in seconds, and the number of calls that were not longer."""
        counts: Counter[int] = Counter()
        for bucket, count in stats.histogram.buckets.items():
            counts[bucket // BUCKETS_PER_OCTAVE] += count
        totals = accumulate(counts[octave] for octave in self._octaves)
        for octave, count in zip(self._octaves, totals, strict=True):
            yield seconds((2 << octave) - 1), count  # durations up to this are in the octave or below


Labels: TypeAlias = Mapping[str, str]
Samples: TypeAlias = list[tuple[Labels, float]]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with all its series.

    Attributes:
        name: after the prefix that all have.
        kind: Prometheus's name for its type.
        about: its meaning, in a few words.
        samples: labels and value of each series.
    """

    name: str
    kind: str
    about: str
    samples: Samples


def families(profile: Profile, paths: Container[str] | None = None) -> Iterator[Family | Durations]:
    """Yield every metric for which the profile has a value.

    Args:
        profile: what was recorded.
        paths: the sections to include; None for all. The run itself, whose path is "", is always included.
    """
    yield from _sections(profile, paths)
    yield from _loops(profile)
    yield from _gauges(profile)
    lost: Samples = [({"what": literal(kind)}, count) for kind, count in sorted(profile.losses.items())]
    yield Family("not_recorded_total", "counter", "Events that could not be recorded.", lost)


def facts(profile: Profile) -> Family:
    """Return facts about the program and the machine."""
    samples: Samples = [
        ({"key": literal(key), "value": literal(str(value))}, 1)
        for key in sorted(profile.metadata)
        for value in ordered(profile.metadata[key])
    ]
    return Family("metadata", "gauge", "Facts about the program and the machine; always 1.", samples)


def _family(
    name: str, about: str, label: str, entries: Iterable[tuple[str, Any]], value: str, kind: str = "counter"
) -> Family:
    """Return a metric of an attribute of each entry, in seconds if it is in nanoseconds; `label` is of their keys."""
    amounts = ((key, getattr(entry, value)) for key, entry in entries)
    in_s = value.endswith("_ns")
    return Family(
        name, kind, about, [({label: key}, seconds(part) if in_s else part) for key, part in amounts]
    )


def _sections(profile: Profile, paths: Container[str] | None) -> Iterator[Family | Durations]:
    # A path has its backslashes doubled already, so it stays unique when its invisible characters are escaped.
    nodes = sorted(
        (visible(path), node)
        for path, depth, node in profile.root.walk()
        if paths is None or not depth or path in paths
    )
    sections = [(path, node) for path, node in nodes if path]
    waits = [(path, node) for path, node in sections if node.wait]
    concurrent = [(path, node) for path, node in sections if node.concurrent_ns]
    about = "Time in a section; path is empty for the run."
    yield _family("section_calls_total", "Completed calls of a section.", "path", sections, "count")
    yield _family("section_seconds_total", about, "path", nodes, "total_ns")
    about = "Self time of a section: time in it and in no child."
    yield _family("section_own_seconds_total", about, "path", nodes, "self_ns")
    about = "Self time of a section that waits."
    yield _family("section_waited_seconds_total", about, "path", waits, "self_ns")
    about = "Time of a section that does not count against its parent, because it ran concurrently."
    yield _family("section_concurrent_seconds", about, "path", concurrent, "concurrent_ns", "gauge")
    yield Durations("section_call_seconds", "How long completed calls of a section took.", "path", sections)


def _loops(profile: Profile) -> Iterator[Family | Durations]:
    loops = [(visible(path), profile.loops[path]) for path in sorted(profile.loops)]
    with_rate = [(path, loop) for path, loop in loops if loop.hz]
    budgets = [(path, loop) for path, loop in with_rate if loop.budget_ns]
    yield _family("loop_ticks_total", "Completed ticks, warm-up included.", "loop", loops, "ticks")
    yield _family("loop_warmup_ticks_total", "Completed ticks of the warm-up.", "loop", loops, "warmup_ticks")
    yield _family("loop_incomplete_ticks_total", "Ticks cut short.", "loop", loops, "incomplete")
    yield _family("loop_missed_ticks_total", "Ticks over their budget.", "loop", with_rate, "missed")
    about = "Time that the target rate allows per tick."
    yield _family("loop_budget_seconds", about, "loop", budgets, "budget_ns", "gauge")
    yield Durations("loop_tick_seconds", "How long ticks took after warm-up.", "loop", loops)


def _gauges(profile: Profile) -> Iterator[Family]:
    gauges = [(literal(name), profile.gauges[name]) for name in sorted(profile.gauges)]
    for value, about in (("last", "The latest reading"), ("min", "The smallest"), ("max", "The largest")):
        # Not "gauge": Prometheus's conventions exclude the type from a metric's name.
        name = "reading" if value == "last" else f"reading_{value}"
        yield _family(name, f"{about} of a value that the program reports.", "gauge", gauges, value, "gauge")
    yield _family("readings_total", "Readings of a value that the program reports.", "gauge", gauges, "count")


def text(families: Iterable[Family | Durations]) -> bytes:
    """Return the text for a scrape or a text file collector, without metrics that have no series."""
    return "".join(line for family in families for line in _lines(family)).encode()


def _lines(family: Family | Durations) -> Iterator[str]:
    name = f"ticktree_{family.name}"
    for number, (ending, labels, value) in enumerate(_series(family)):
        if not number:
            yield f"# HELP {name} {family.about}\n# TYPE {name} {family.kind}\n"
        # Line ends are already escaped: labels have visible characters only.
        escaped = {label: text.replace("\\", "\\\\").replace('"', '\\"') for label, text in labels.items()}
        inner = ",".join(f'{label}="{text}"' for label, text in escaped.items())
        yield f"{name}{ending}{{{inner}}} {value!r}\n"


def _series(family: Family | Durations) -> Iterator[tuple[str, Labels, float]]:
    """Yield the end of the name, the labels and the value of each series."""
    if isinstance(family, Family):
        yield from (("", labels, value) for labels, value in family.samples)
        return
    for labels, stats in family.samples:
        for limit_s, count in family.buckets(stats):
            yield "_bucket", {**labels, "le": repr(limit_s)}, count
        yield "_bucket", {**labels, "le": "+Inf"}, stats.count
        yield "_sum", labels, seconds(stats.sum_ns)
        yield "_count", labels, stats.count


CONTENT_TYPE = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
SCHEMA = 5
# Numbers of kinds in io.prometheus.client, and of their fields in a metric.
_KINDS = {"counter": (0, 3), "gauge": (1, 2)}
_HISTOGRAM = 4


def protobuf(families: Iterable[Family | Durations]) -> bytes:
    """Return messages, each after its length, without metrics that have no series."""
    messages = [message for family in families for message in _messages(family)]
    return b"".join(pb.varint(len(message)) + message for message in messages)


def _messages(family: Family | Durations) -> Iterator[bytes]:
    if isinstance(family, Family):
        kind, field = _KINDS[family.kind]
        values = ((labels, pb.double(1, value, present=True)) for labels, value in family.samples)
        metrics = [(labels, pb.message(field, value)) for labels, value in values]
        yield from _message(family.name, family.about, kind, metrics)
        return
    classic = [(labels, pb.message(7, _classic(family, stats))) for labels, stats in family.samples]
    yield from _message(family.name, family.about, _HISTOGRAM, classic)
    native = [(labels, pb.message(7, _native(stats))) for labels, stats in family.samples]
    name = family.name.removesuffix("seconds") + "nanoseconds"
    yield from _message(name, family.about, _HISTOGRAM, native)


def _message(name: str, about: str, kind: int, metrics: list[tuple[Labels, bytes]]) -> Iterator[bytes]:
    if metrics:
        parts = [pb.text(1, f"ticktree_{name}"), pb.text(2, about), pb.integer(3, kind)]
        for labels, value in metrics:
            pairs = (pb.message(1, pb.text(1, label), pb.text(2, text)) for label, text in labels.items())
            parts.append(pb.message(4, *pairs, value))
        yield b"".join(parts)


def _classic(family: Durations, stats: Stats) -> bytes:
    limits = (*family.buckets(stats), (float("inf"), stats.count))
    buckets = [pb.message(3, pb.integer(1, count), pb.double(2, limit_s)) for limit_s, count in limits]
    return b"".join([pb.integer(1, stats.count), pb.double(2, seconds(stats.sum_ns), present=True), *buckets])


def _native(stats: Stats) -> bytes:
    buckets = sorted(stats.histogram.buckets.items())
    spans: list[list[int]] = []
    deltas = []
    next_bucket, previous = 0, 0
    for bucket, count in buckets:
        # Prometheus numbers a bucket by the power at its end, ticktree by the power at its begin.
        if not spans or bucket + 1 != next_bucket:
            spans.append([bucket + 1 - next_bucket, 0])
        spans[-1][1] += 1
        next_bucket = bucket + 2
        deltas.append(count - previous)
        previous = count
    return b"".join(
        [
            pb.integer(1, stats.count),
            pb.double(2, float(stats.sum_ns), present=True),
            pb.signed(5, SCHEMA),
            # Without a zero bucket, its spans distinguish it from a classic histogram.
            pb.double(6, 0.0, present=True),
            pb.integer(7, 0, present=True),
            *(pb.message(12, pb.signed(1, offset), pb.integer(2, length)) for offset, length in spans),
            pb.signed_integers(13, deltas),
        ]
    )


def render(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - the format has no options
    """Return every metric for which the profile has a value, in UTF-8; other metrics have no series."""
    return text([*families(profile), facts(profile)])
