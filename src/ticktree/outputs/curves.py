"""Curves: each section over the run's time, by windows, for TensorBoard and Rerun.

This module writes TensorBoard's event files without the usual library: an event is a small message in a frame with two
checksums. A Rerun recording also has worst ticks, gauges, and the report; Rerun derives row ids from the time of
writing, so no two recordings have the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ticktree.analysis.context import Context
from ticktree.outputs import markdown
from ticktree.outputs import protobuf as pb
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.registry import import_library
from ticktree.outputs.view.headline import headline, losses, title
from ticktree.outputs.writing.visible import encodable, visible
from ticktree.profile import Loop, Node, Profile, Stats
from ticktree.profile import path as paths
from ticktree.profile.histogram import edges_of
from ticktree.profile.timeline import Timeline

_MS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class SectionCurve:
    """A section's calls by the windows in which they ended, in order of time; windows without calls are absent."""

    path: str
    node: Node
    width_ns: int
    ends_ns: tuple[int, ...]
    counts: tuple[int, ...]
    totals_ns: tuple[int, ...]

    @property
    def means_ms(self) -> list[float]:
        """Mean duration of the calls that ended in each window."""
        return [total / count / _MS for total, count in zip(self.totals_ns, self.counts, strict=True)]


def section_curves(profile: Profile) -> Iterator[SectionCurve]:
    """Yield the curve of every section, by path; empty if unknown. The root is not a section, and has none."""
    for path, node in sorted((path, node) for path, _, node in profile.root.walk() if path):
        windows, indices = node.windows, sorted(node.windows.counts)
        ends_ns = tuple((index + 1) * windows.width_ns for index in indices)
        counts = tuple(windows.counts[index] for index in indices)
        totals_ns = tuple(windows.totals.get(index, 0) for index in indices)
        yield SectionCurve(path, node, windows.width_ns, ends_ns, counts, totals_ns)


def last_window_end_ns(profile: Profile) -> int:
    """Return when the last window of a profile ended, since the run began; 0 if there is none."""
    return max((curve.ends_ns[-1] for curve in section_curves(profile) if curve.ends_ns), default=0)


_CASTAGNOLI = 0x82F63B78  # the polynomial, with its bits in the order of the checksum
_32_BITS = (1 << 32) - 1


def _crc_of(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_CASTAGNOLI if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_crc_of, range(256)))


def crc32c(content: bytes) -> int:
    """Return the CRC-32C of `content`, which is not the CRC-32 of Python's library."""
    crc = _32_BITS
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ _32_BITS


def record(content: bytes) -> bytes:
    """Return `content` framed."""
    length = struct.pack("<Q", len(content))
    return length + _checksum(length) + content + _checksum(content)


def _checksum(content: bytes) -> bytes:
    """Return the checksum as the format stores it: rotated and shifted, for data that contain checksums."""
    crc = crc32c(content)
    return struct.pack("<I", (((crc >> 15 | crc << 17) & _32_BITS) + 0xA282EAD8) & _32_BITS)


_SECOND = 1_000_000_000
_VERSION = "brain.Event:2"


def render_tensorboard(profile: Profile, options: ViewOptions) -> bytes:
    """Return the events in order of time: the windows of all nodes, then facts about the whole run."""
    events = [_event(0, pb.text(3, _VERSION))]
    nodes = sorted((visible(path), node) for path, _, node in profile.root.walk() if path)
    last_ns = 0
    for end_ns, windows in _by_end(profile):
        events.append(_event(end_ns, pb.message(5, b"".join(windows))))
        last_ns = end_ns
    values = b"".join(
        _value(f"ms per call/{path}", pb.message(5, _histogram(node.stats)))
        for path, node in nodes
        if node.count and node.stats.is_known
    )
    values += _summary(profile, options)
    events.append(_event(last_ns, pb.message(5, values)))
    return b"".join(map(record, events))


def _by_end(profile: Profile) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the sections' windows, those that end at the same time together, in order of time."""
    values_by_end: dict[int, list[bytes]] = {}
    for curve in sorted(section_curves(profile), key=lambda curve: visible(curve.path)):
        path = visible(curve.path)
        for end_ns, count, mean_ms in zip(curve.ends_ns, curve.counts, curve.means_ms, strict=True):
            calls_per_s = count * _SECOND / curve.width_ns
            values = values_by_end.setdefault(end_ns, [])
            values.append(_value(f"mean ms/{path}", pb.single(2, mean_ms)))
            values.append(_value(f"calls per s/{path}", pb.single(2, calls_per_s)))
    yield from sorted(values_by_end.items())


def _histogram(stats: Stats) -> bytes:
    """Return a HistogramProto, whose buckets begin where the ones before them end.

    It has no sum of squares, which ticktree does not keep.
    """
    limits: list[float] = []
    counts: list[float] = []
    for bucket in sorted(stats.histogram.buckets):
        begin, end = (edge / _MS for edge in edges_of(bucket))
        if not limits or limits[-1] < begin * (1 - 1e-9):  # it begins where the one before ends
            limits.append(begin)
            counts.append(0.0)
        limits.append(end)
        counts.append(float(stats.histogram.buckets[bucket]))
    head = pb.double(1, (stats.min_ns or 0) / _MS) + pb.double(2, (stats.max_ns or 0) / _MS)
    head += pb.double(3, float(stats.count)) + pb.double(4, stats.sum_ns / _MS)
    return head + pb.doubles(6, limits) + pb.doubles(7, counts)


def _summary(profile: Profile, options: ViewOptions) -> bytes:
    """Return what ran and the losses, for TensorBoard's text plugin."""
    pieces = headline(Context(profile), options)
    text = "  \n".join([title(profile), *pieces, *losses(profile)])
    strings = 7  # DT_STRING
    tensor = pb.integer(1, strings) + pb.message(2, b"") + pb.text(8, text)
    plugin = pb.message(1, pb.text(1, "text"))
    return _value("ticktree", pb.message(9, plugin) + pb.message(8, tensor))


def _value(tag: str, content: bytes) -> bytes:
    return pb.message(1, pb.text(1, tag) + content)


def _event(at_ns: int, content: bytes) -> bytes:
    """Return an event: its wall time in seconds, its step in milliseconds, its content.

    A profile has times since the run's beginning, but not the time of day: both count from the run's beginning.
    """
    return pb.double(1, at_ns / _SECOND) + pb.integer(2, at_ns // _MS) + content


RUN, WALL = "run", "wall"


def render_rerun(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return a recording; values that were not measured have no entity."""
    recording = _Recording(import_library("rerun", by="rerun", extra="rerun"), title(profile))
    if options.only != "calls":
        _add_totals(recording, profile)
    if timeline is not None:
        recording.add_calls(timeline)
    recording.add_report(markdown.render(profile, options).decode(errors="replace"), losses(profile))
    return recording.content()


def _add_totals(recording: _Recording, profile: Profile) -> None:
    for curve in section_curves(profile):
        recording.add_section(curve)
    end_ns = last_window_end_ns(profile)
    for _, loop in sorted(profile.loops.items()):
        recording.add_loop(loop, end_ns)
    for name, gauge in sorted(profile.gauges.items()):
        recording.add_curve(["gauge", name], WALL, [gauge.last_wall_ns], [gauge.last])


def entity(*parts: str) -> list[str]:
    """Return the names of an entity's path; invisible characters are escaped, and different names stay different.

    Escapes begin with `%5C` instead of a backslash, because Rerun takes a backslash before a slash for an escape.
    """
    return [visible(paths.element(part)).replace("%", "%25").replace("\\", "%5C") for part in parts]


class _Recording:
    def __init__(self, rerun: Any, name: str) -> None:
        self._rerun = rerun
        self._stream = rerun.RecordingStream("ticktree", recording_id=encodable(name), send_properties=False)
        self._stream.set_log_time_enabled(False)
        self._stream.set_log_tick_enabled(False)
        self._sink = self._stream.binary_stream()

    def add_section(self, curve: SectionCurve) -> None:
        """Add one section: its curves, and its totals."""
        names = ["section", *paths.split(curve.path)]
        node = curve.node
        totals = {key: getattr(node, key) for key in ("total_ns", "self_ns", "concurrent_ns")}
        totals |= {key: getattr(node.stats, key) for key in ("min_ns", "p50_ns", "p99_ns", "max_ns")}
        self._log_totals(names, {"calls": node.count, **totals})
        self.add_curve([*names, "mean_ms"], RUN, curve.ends_ns, curve.means_ms)
        self.add_curve([*names, "calls"], RUN, curve.ends_ns, curve.counts)
        self.add_curve([*names, "total_ms"], RUN, curve.ends_ns, [total / _MS for total in curve.totals_ns])

    def _log_totals(self, names: Sequence[str], values: Mapping[str, Any]) -> None:
        totals = {key: value for key, value in values.items() if value is not None}
        self._stream.log(entity(*names), self._rerun.AnyValues(**totals), static=True)

    def add_loop(self, loop: Loop, end_ns: int) -> None:
        """Add one loop: its budget, and its worst ticks where they began."""
        names = ["loop", *paths.split(loop.path)]
        values = {key: getattr(loop, key) for key in ("busy_ns", "achieved_hz", "budget_ns")}
        missed = loop.missed if loop.hz else None
        self._log_totals(names, {"ticks": loop.ticks, "missed": missed, **values})
        if loop.budget_ns is not None and end_ns:
            self.add_curve([*names, "budget_ms"], RUN, [0, end_ns], [loop.budget_ns / _MS] * 2)
        worst = sorted(loop.worst, key=lambda tick: (tick.started_ns, tick.thread, tick.tick))
        starts = [tick.started_ns for tick in worst]
        self.add_curve([*names, "worst_ms"], RUN, starts, [tick.duration_ns / _MS for tick in worst])

    def add_calls(self, timeline: Timeline) -> None:
        """Add every call, as a point at its start whose height is its duration."""
        for i, node in enumerate(timeline.nodes):
            calls = np.flatnonzero(timeline.node == i)
            names = ["call", *paths.split(node.path), "ms"]
            self.add_curve(names, RUN, timeline.start_ns[calls], timeline.duration_ns[calls] / _MS)

    def add_curve(self, names: Sequence[str], timeline: str, times_ns: ArrayLike, values: ArrayLike) -> None:
        times_ns = np.asarray(times_ns, np.int64)
        if not len(times_ns):
            return
        kind, dtype = ("duration", "timedelta64[ns]") if timeline == RUN else ("timestamp", "datetime64[ns]")
        times = {kind: times_ns.astype(dtype)}
        self._stream.send_columns(
            self._rerun.new_entity_path(entity(*names)),
            indexes=[self._rerun.TimeColumn(timeline, **times)],
            columns=self._rerun.Scalars.columns(scalars=np.asarray(values, np.float64)),
        )

    def add_report(self, report: str, lost: Sequence[str]) -> None:
        """Add the report, and the losses."""
        media = self._rerun.MediaType.MARKDOWN
        self._stream.log("report", self._rerun.TextDocument(report, media_type=media), static=True)
        if lost:
            self._stream.log("not_recorded", self._rerun.TextLog(", ".join(lost), level="WARN"), static=True)

    def content(self) -> bytes:
        content: bytes = self._sink.read() or b""
        return content
