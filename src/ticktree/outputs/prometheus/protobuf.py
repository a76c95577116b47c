"""The format of protocol buffers, which Prometheus asks for where it keeps native histograms.

Beside the classic histograms in seconds, whose names and limits are those of the text, each has a native one in
nanoseconds: of schema 5, with 32 buckets an octave, which are ticktree's own. They would be cut in two in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ticktree.outputs.prometheus.families import Family
from ticktree.outputs.prometheus.histograms import Durations
from ticktree.outputs.wire import protobuf as pb
from ticktree.profile import Stats

CONTENT_TYPE = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
SCHEMA = 5
# Numbers of fields and kinds in io.prometheus.client.
_COUNTER, _GAUGE, _HISTOGRAM = 0, 1, 4
_OF_A_METRIC = {"counter": 3, "gauge": 2}
_KINDS = {"counter": _COUNTER, "gauge": _GAUGE}


def protobuf(families: Iterable[Family | Durations]) -> bytes:
    """Return messages, each after its length; a metric without series is not in it."""
    found = [message for family in families for message in _messages(family)]
    return b"".join(pb.varint(len(message)) + message for message in found)


def _messages(family: Family | Durations) -> Iterator[bytes]:
    if isinstance(family, Family):
        field = _OF_A_METRIC[family.kind]
        values = [
            (labels, pb.message(field, pb.double(1, value, present=True))) for labels, value in family.samples
        ]
        yield from _family(family.name, family.about, _KINDS[family.kind], values)
        return
    classic = [(labels, pb.message(7, _classic(family, stats))) for labels, stats in family.samples]
    yield from _family(family.name, family.about, _HISTOGRAM, classic)
    native = [(labels, pb.message(7, _native(stats))) for labels, stats in family.samples]
    name = family.name.removesuffix("seconds") + "nanoseconds"
    yield from _family(name, family.about, _HISTOGRAM, native)


def _family(
    name: str, about: str, kind: int, metrics: list[tuple[Mapping[str, str], bytes]]
) -> Iterator[bytes]:
    if metrics:
        head = pb.text(1, f"ticktree_{name}") + pb.text(2, about) + pb.integer(3, kind)
        yield head + b"".join(pb.message(4, _labels(labels), value) for labels, value in metrics)


def _labels(labels: Mapping[str, str]) -> bytes:
    return b"".join(pb.message(1, pb.text(1, label), pb.text(2, text)) for label, text in labels.items())


def _classic(family: Durations, stats: Stats) -> bytes:
    buckets = [
        pb.message(3, pb.integer(1, count), pb.double(2, limit_s)) for limit_s, count in family.buckets(stats)
    ]
    last = pb.message(3, pb.integer(1, stats.count), pb.double(2, float("inf")))
    return b"".join(
        [pb.integer(1, stats.count), pb.double(2, family.sum_s(stats), present=True), *buckets, last]
    )


def _native(stats: Stats) -> bytes:
    buckets = sorted(stats.histogram.buckets.items())
    spans: list[list[int]] = []
    deltas = []
    next_one, before = 0, 0
    for bucket, count in buckets:
        # A bucket is called by the power that it ends with there, and by the one that it begins with here.
        if not spans or bucket + 1 != next_one:
            spans.append([bucket + 1 - next_one, 0])
        spans[-1][1] += 1
        next_one = bucket + 2
        deltas.append(count - before)
        before = count
    return b"".join(
        [
            pb.integer(1, stats.count),
            pb.double(2, float(stats.sum_ns), present=True),
            pb.signed(5, SCHEMA),
            # Without zeroes that could be in it, it is told apart from a classic one by its spans.
            pb.double(6, 0.0, present=True),
            pb.integer(7, 0, present=True),
            *(pb.message(12, pb.signed(1, offset), pb.integer(2, length)) for offset, length in spans),
            pb.all_signed(13, deltas),
        ]
    )
