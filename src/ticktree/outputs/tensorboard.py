"""TensorBoard's event file: what each section took over the run's time, and how its calls were spread.

The library that usually writes such files is not needed: an event is a small message in a frame with two checksums.
"""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.series import series_of
from ticktree.outputs.view.headline import headline, losses, title
from ticktree.outputs.wire import protobuf as pb
from ticktree.outputs.wire.tfrecord import record
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile, Stats
from ticktree.profile.histogram import edges_of

_MS = 1_000_000
_SECOND = 1_000_000_000
_VERSION = "brain.Event:2"


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the events in the order of time: the windows of all nodes, then what is known of the whole run only."""
    events = [_event(0, pb.text(3, _VERSION))]
    nodes = sorted((visible(path), node) for path, _, node in profile.root.walk() if path)
    last_ns = 0
    for end_ns, windows in _by_end(profile):
        events.append(_event(end_ns, pb.message(5, b"".join(windows))))
        last_ns = end_ns
    values = b"".join([*_histograms(nodes), _words(profile, options)])
    events.append(_event(last_ns, pb.message(5, values)))
    return b"".join(map(record, events))


def _by_end(profile: Profile) -> Iterator[tuple[int, list[bytes]]]:
    """Yield what sections did in the windows that end at the same time together, in the order of time."""
    together: dict[int, list[bytes]] = {}
    for series in sorted(series_of(profile), key=lambda one: visible(one.path)):
        path = visible(series.path)
        for end_ns, count, mean_ms in zip(series.ends_ns, series.counts, series.means_ms, strict=True):
            calls_per_s = count * _SECOND / series.width_ns
            values = together.setdefault(end_ns, [])
            values.append(_value(f"mean ms/{path}", pb.single(2, mean_ms)))
            values.append(_value(f"calls per s/{path}", pb.single(2, calls_per_s)))
    yield from sorted(together.items())


def _histograms(nodes: list[tuple[str, Node]]) -> Iterator[bytes]:
    for path, node in nodes:
        if node.count and node.stats.is_known:
            yield _value(f"ms a call/{path}", pb.message(5, _histogram(node.stats)))


def _histogram(stats: Stats) -> bytes:
    """Return a HistogramProto, whose buckets begin where the ones before them end.

    Its sum of squares is not kept by ticktree, and is left out.
    """
    limits: list[float] = []
    counts: list[float] = []
    for bucket in sorted(stats.histogram.buckets):
        begin, end = (edge / _MS for edge in edges_of(bucket))
        if not limits or limits[-1] < begin * (1 - 1e-9):  # nothing is between it and the one before
            limits.append(begin)
            counts.append(0.0)
        limits.append(end)
        counts.append(float(stats.histogram.buckets[bucket]))
    head = pb.double(1, (stats.min_ns or 0) / _MS) + pb.double(2, (stats.max_ns or 0) / _MS)
    head += pb.double(3, float(stats.count)) + pb.double(4, stats.sum_ns / _MS)
    return head + pb.doubles(6, limits) + pb.doubles(7, counts)


def _words(profile: Profile, options: ViewOptions) -> bytes:
    """Return what was run and what was lost, as TensorBoard's text plugin shows it."""
    about = headline(Survey(profile), options)
    said = "  \n".join([title(profile), *about, *losses(profile)])
    strings = 7  # DT_STRING
    tensor = pb.integer(1, strings) + pb.message(2, b"") + pb.text(8, said)
    plugin = pb.message(1, pb.text(1, "text"))
    return _value("ticktree", pb.message(9, plugin) + pb.message(8, tensor))


def _value(tag: str, content: bytes) -> bytes:
    return pb.message(1, pb.text(1, tag) + content)


def _event(at_ns: int, content: bytes) -> bytes:
    """Return an event: its wall time in seconds, its step in milliseconds, what it says.

    A profile knows how long the run had gone on, but not at what o'clock: both count from the run's beginning.
    """
    return pb.double(1, at_ns / _SECOND) + pb.integer(2, at_ns // _MS) + content
