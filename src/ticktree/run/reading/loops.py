"""The loops of one memory file."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ticktree.profile import Causes, FirstTicks, Gauge, Histogram, Jitter, Lateness, Loop, WorstTick
from ticktree.profile.gauge import GaugeWindows, Readings
from ticktree.profile.loop import longest_ticks
from ticktree.profile.stats import BASE_WIDTH_NS
from ticktree.run.reading import layout
from ticktree.run.reading.accounts import Clock, thread_id
from ticktree.run.reading.image import Image
from ticktree.run.reading.parts import WIDEST_SHIFT, PartsReader

Rows = list[tuple[int, int]]

_ROW = struct.Struct("<I4xQ")
_MAX_ROWS = layout.WorstTick.rows.size // _ROW.size
_CAUSES = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")


class LoopsReader:
    """Reads the loops of one image.

    Args:
        paths: The path of each node, in the order of the parts.
        min_tick_ns: The shortest duration of a tick to keep, by the loop's path.
    """

    def __init__(
        self,
        image: Image,
        clock: Clock,
        nodes: PartsReader,
        paths: Sequence[str],
        min_tick_ns: Mapping[str, int],
    ) -> None:
        self._image = image
        self._clock = clock
        self._nodes = nodes
        self._paths = paths
        self._min_tick_ns = min_tick_ns

    def loops(self) -> list[Loop]:
        """Return every loop; loops of several threads with the same path are separate."""
        return [self._loop(ref, record) for ref, record in self._image.loops()]

    def _loop(self, ref: int, record: layout.Record) -> Loop:
        if record.node not in self._nodes.index:
            raise self._image.damage_error("a loop has no node")
        index = self._nodes.index[record.node]
        part = self._nodes.parts[index]
        thread = thread_id(self._image, part.tree)
        convert = self._clock.ns
        missed, longest = record.missed, record.longest_miss_run
        is_torn = self._nodes.is_torn(ref, record.sequence)
        if is_torn:
            missed = min(missed, part.count)
            longest = min(longest, missed)
        ticks = self._ticks(record, is_torn=is_torn)
        min_ns = self._min_tick_ns.get(self._paths[index], 0)
        worst = [self._worst(*tick, thread) for tick in ticks if convert(tick[0].duration) >= min_ns]
        stats = self._nodes.stats(index)
        sums = sums_of(self._image, record, stats.count, missed, convert, is_torn=is_torn)
        lateness = jitter = None
        if record.hz:
            lateness = Lateness(missed, convert(record.late_sum), convert(record.late_maximum), sums.lateness)
        if record.jitter_count:
            jitter = Jitter(record.jitter_count, convert(record.jitter_sum), sums.jitter)
        return Loop(
            path=self._paths[index],
            ticks=part.count,
            incomplete=record.incomplete,
            hz=frozenset({record.hz, record.other_hz} - {0.0}),
            missed=missed,
            longest_miss_run=longest,
            warmup_ticks=part.warmup_calls.completed if part.is_phased else 0,
            stats=stats,
            lateness=lateness,
            jitter=jitter,
            busy_ns=convert(record.busy),
            first_ticks=self._first_ticks(record, thread),
            worst=longest_ticks(worst),
            waited_ns=None if sums.waited is None else convert(sums.waited),
            causes=sums.causes,
            missed_causes=sums.missed_causes,
            missed_ns=None if sums.missed is None or not record.hz else convert(sums.missed),
            missed_breakdown=self._breakdown(sums.breakdown.items()),
        )

    def _breakdown(self, rows: Iterable[tuple[int, int]]) -> dict[str, int]:
        """Return nanoseconds by path; the node of a recorded duration and that of a section may share a path."""
        breakdown: dict[str, int] = {}
        for ref, ticks in rows:
            if ref not in self._nodes.index:
                raise self._image.damage_error("a loop's missed ticks name no node")
            path = self._paths[self._nodes.index[ref]]
            breakdown[path] = breakdown.get(path, 0) + self._clock.ns(ticks)
        return breakdown

    def _first_ticks(self, record: layout.Record, thread: str) -> FirstTicks | None:
        durations = tuple(self._clock.ns(ticks) for ticks in record.first[: record.first_count])
        return FirstTicks(record.first_wall_ns, thread, durations) if durations else None

    def _ticks(self, record: layout.Record, *, is_torn: bool) -> list[tuple[layout.Record, Rows]]:
        """Return the worst ticks and their breakdowns: the index of each node, and its clock ticks."""
        worst = []
        for tick in record.worst[: record.worst_count]:
            begin = layout.offset_of(layout.WorstTick, "rows")
            rows = memoryview(tick).cast("B")[begin : begin + _ROW.size * min(tick.row_count, _MAX_ROWS)]
            pairs = [(self._nodes.index.get(ref, -1), ticks) for ref, ticks in _ROW.iter_unpack(rows)]
            if all(index >= 0 for index, _ in pairs):
                worst.append((tick, pairs))
            elif not is_torn:
                raise self._image.damage_error("a tick's breakdown names no node")
        return worst

    def _worst(self, tick: layout.Record, rows: Rows, thread: str) -> WorstTick:
        causes = {"gc_ns": self._clock.ns(tick.gc_ticks)}
        if tick.causes_known:
            causes |= {name: getattr(tick, name) for name in _CAUSES}
        return WorstTick(
            duration_ns=self._clock.ns(tick.duration),
            thread=thread,
            tick=tick.tick,
            started_ns=self._clock.since_began_ns(tick.start),
            breakdown={self._paths[index]: self._clock.ns(ticks) for index, ticks in rows},
            causes=causes,
        )


# More ticks than a process makes in a year; small enough that no sum overflows.
_MAX_TICKS = 1 << 48


@dataclass(frozen=True)
class Sums:
    """The sums of a loop's ticks in addition to its record; None or empty if they do not cover all ticks.

    Attributes:
        waited, missed: Clock ticks waited, and in missed ticks.
        causes, missed_causes: As in `Loop`.
        breakdown: Clock ticks in missed ticks, by the reference of the node.
        lateness: Lateness of missed ticks.
        jitter: Differences of neighbouring ticks.
    """

    waited: int | None = None
    missed: int | None = None
    causes: Causes | None = None
    missed_causes: Causes | None = None
    breakdown: Mapping[int, int] = field(default_factory=dict)
    lateness: Histogram = field(default_factory=Histogram)
    jitter: Histogram = field(default_factory=Histogram)


def sums_of(
    image: Image, record: layout.Record, ticks: int, missed: int, ns: Callable[[int], int], *, is_torn: bool
) -> Sums:
    """Return the sums that a loop's record refers to; empty ones if an older file has none.

    There are `ticks` after warm-up. A torn record may contain only part of a tick: then the sums are not used.
    """
    if not record.sums:
        return Sums()
    sums = image.record(record.sums, layout.LoopSums)
    lateness = _histogram(image, sums.late_octaves, missed)
    jitter = _histogram(image, sums.jitter_octaves, record.jitter_count)
    if is_torn:
        return Sums(lateness=lateness, jitter=jitter)
    breakdown = {row.node: row.sum for row in image.missed_rows(sums.missed_rows) if row.sum}
    has_misses = sums.missed == missed
    return Sums(
        waited=sums.waited if sums.ticks == ticks else None,
        missed=sums.missed_sum if has_misses else None,
        causes=_causes(sums.causes, ticks, ns),
        missed_causes=_causes(sums.missed_causes, missed, ns),
        breakdown=breakdown if has_misses else {},
        lateness=lateness,
        jitter=jitter,
    )


def _causes(causes: layout.Record, max_ticks: int, ns: Callable[[int], int]) -> Causes | None:
    """Return the causes of at most `max_ticks` ticks; None if there are none."""
    if causes.ticks > max_ticks or not (causes.ticks or causes.gc_ticks):
        return None
    return Causes(
        ticks=causes.ticks,
        gc_ns=ns(causes.gc_ticks),
        voluntary_switches=causes.voluntary_switches,
        involuntary_switches=causes.involuntary_switches,
        minor_faults=causes.minor_faults,
        major_faults=causes.major_faults,
    )


def _histogram(image: Image, octaves: Iterable[int], count: int) -> Histogram:
    """Return the histogram; an empty one if it does not contain `count` values."""
    buckets = _buckets(image, ((octave, ref) for octave, ref in enumerate(octaves) if ref))
    if max(buckets.values(), default=0) > _MAX_TICKS:
        raise image.damage_error("a histogram holds more ticks than there can be")
    histogram = Histogram(buckets)
    return histogram if histogram.count == count else Histogram()


def _buckets(image: Image, octaves: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return a histogram's buckets from the number of each octave and the reference of its counts."""
    return {
        octave * layout.SUB_BUCKETS + sub: count
        for octave, ref in octaves
        for sub, count in enumerate(image.octave(ref))
        if count
    }


_OCTAVES_OF_FLOATS = range(-1074, 1024)


def gauges_of(image: Image) -> list[Gauge]:
    """Return every gauge that has a reading."""
    return [_gauge(image, ref, record) for ref, record in image.gauges() if record.count]


def _gauge(image: Image, ref: int, record: layout.Record) -> Gauge:
    positive, negative = _gauge_buckets(image, record, 1), _gauge_buckets(image, record, -1)
    count, low, high = record.count, record.minimum, record.maximum
    if record.sequence % 2 or ref in image.torn_refs:  # it may contain only part of a reading
        count = max(count, positive.count + negative.count + record.zeros)
        low, high = min(low, record.last), max(high, record.last)
    gauge = Gauge(
        name=image.text(record.name),
        last=record.last,
        last_wall_ns=record.last_wall_ns,
        process=str(image.writer),
        count=count,
        min=low,
        max=high,
        positive=positive,
        negative=negative,
        zeros=record.zeros,
        windows=_gauge_windows(image, record),
    )
    # A gauge copied during a write may have one reading more or less in its windows.
    return gauge if gauge.windows_known else replace(gauge, windows=GaugeWindows())


def _gauge_windows(image: Image, record: layout.Record) -> GaugeWindows:
    if record.window_shift > WIDEST_SHIFT:
        raise image.damage_error("the windows of a gauge are wider than any run")
    readings = {
        at: Readings(window.count, window.minimum, window.maximum)
        for at, window in enumerate(record.windows)
        if window.count
    }
    return GaugeWindows(BASE_WIDTH_NS << record.window_shift, readings)


def _gauge_buckets(image: Image, record: layout.Record, sign: int) -> Histogram:
    octaves = record.octaves[: record.octave_count]
    if any(octave.sign not in (1, -1) or octave.octave not in _OCTAVES_OF_FLOATS for octave in octaves):
        raise image.damage_error("a gauge has impossible values")
    return Histogram(
        _buckets(image, ((octave.octave, octave.counts) for octave in octaves if octave.sign == sign))
    )
