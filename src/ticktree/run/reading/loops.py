"""The loops of one memory file."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from ticktree.profile import FirstTicks, Jitter, Lateness, Loop, WorstTick
from ticktree.profile.ticks import worst_of
from ticktree.run.reading import layout
from ticktree.run.reading.clock import Clock
from ticktree.run.reading.image import Image
from ticktree.run.reading.parts import PartsReader
from ticktree.run.reading.sums import sums_of

Rows = list[tuple[int, int]]

_ROW = struct.Struct("<I4xQ")
_MOST_ROWS = layout.WorstTick.rows.size // _ROW.size
_CAUSES = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")


class LoopsReader:
    """Reads the loops of one image.

    Args:
        image: The file.
        clock: Its clock.
        nodes: Its nodes.
        paths: The path of each, in the order of its parts.
        long_enough: How long a tick must be, by its loop's path, to be worth keeping.

    Raises:
        DamagedError: From any method, where the file says what cannot be.
    """

    def __init__(
        self,
        image: Image,
        clock: Clock,
        nodes: PartsReader,
        paths: Sequence[str],
        long_enough: Mapping[str, int],
    ) -> None:
        self._image = image
        self._clock = clock
        self._nodes = nodes
        self._paths = paths
        self._long_enough = long_enough

    def loops(self) -> list[Loop]:
        """Every loop; several threads' loops of one path are apart."""
        return [self._loop(ref, record) for ref, record in self._image.loops()]

    def _loop(self, ref: int, record: layout.Record) -> Loop:
        if record.node not in self._nodes.index:
            raise self._image.damaged("a loop has no node")
        place = self._nodes.index[record.node]
        part = self._nodes.parts[place]
        writer = f"{self._image.writer}/{part.tree}"
        convert = self._clock.ns
        missed, longest = record.missed, record.longest_miss_run
        torn = self._nodes.is_torn(ref, record.sequence)
        if torn:
            missed = min(missed, part.count)
            longest = min(longest, missed)
        ticks = self._ticks(record, torn=torn)
        least_ns = self._long_enough.get(self._paths[place], 0)
        worst = [self._worst(*tick, writer) for tick in ticks if convert(tick[0].duration) >= least_ns]
        stats = self._nodes.stats(place)
        sums = sums_of(self._image, record, stats.count, missed, convert, torn=torn)
        lateness = jitter = None
        if record.hz:
            lateness = Lateness(missed, convert(record.late_sum), convert(record.late_maximum), sums.late)
        if record.jitter_count:
            jitter = Jitter(record.jitter_count, convert(record.jitter_sum), sums.steps)
        return Loop(
            path=self._paths[place],
            ticks=part.count,
            incomplete=record.incomplete,
            hz=frozenset({record.hz, record.other_hz} - {0.0}),
            missed=missed,
            longest_miss_run=longest,
            warmup_ticks=part.warm_calls.completed if part.is_phased else 0,
            stats=stats,
            lateness=lateness,
            jitter=jitter,
            busy_ns=convert(record.busy),
            first_ticks=self._first_ticks(record, writer),
            worst=worst_of(worst),
            waited_ns=None if sums.waited is None else convert(sums.waited),
            causes=sums.causes,
            missed_causes=sums.missed_causes,
            missed_ns=None if sums.missed is None or not record.hz else convert(sums.missed),
            missed_breakdown=self._breakdown(sums.breakdown.items()),
        )

    def _breakdown(self, rows: Iterable[tuple[int, int]]) -> dict[str, int]:
        """Nanoseconds by path; a recorded duration's node and a section's may have the same."""
        found: dict[str, int] = {}
        for ref, ticks in rows:
            if ref not in self._nodes.index:
                raise self._image.damaged("a loop's missed ticks name no node")
            path = self._paths[self._nodes.index[ref]]
            found[path] = found.get(path, 0) + self._clock.ns(ticks)
        return found

    def _first_ticks(self, record: layout.Record, writer: str) -> FirstTicks | None:
        durations = tuple(self._clock.ns(ticks) for ticks in record.first[: record.first_count])
        return FirstTicks(record.first_wall_ns, writer, durations) if durations else None

    def _ticks(self, record: layout.Record, *, torn: bool) -> list[tuple[layout.Record, Rows]]:
        """The worst ticks and their breakdowns: the place of each node, and its clock ticks."""
        found = []
        for tick in record.worst[: record.worst_count]:
            begin = layout.offset_of(layout.WorstTick, "rows")
            rows = memoryview(tick).cast("B")[begin : begin + _ROW.size * min(tick.row_count, _MOST_ROWS)]
            pairs = [(self._nodes.index.get(ref, -1), ticks) for ref, ticks in _ROW.iter_unpack(rows)]
            if all(place >= 0 for place, _ in pairs):
                found.append((tick, pairs))
            elif not torn:
                raise self._image.damaged("a tick's breakdown names no node")
        return found

    def _worst(self, tick: layout.Record, rows: Rows, writer: str) -> WorstTick:
        causes = {"gc_ns": self._clock.ns(tick.gc_ticks)}
        if tick.causes_known:
            causes |= {name: getattr(tick, name) for name in _CAUSES}
        return WorstTick(
            duration_ns=self._clock.ns(tick.duration),
            writer=writer,
            tick=tick.tick,
            started_ns=self._clock.since_began_ns(tick.start),
            breakdown={self._paths[place]: self._clock.ns(ticks) for place, ticks in rows},
            causes=causes,
        )
