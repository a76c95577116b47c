"""Rerun's recordings: curves of every section over the run's time, worst ticks, gauges, and the report beside them.

A recording's rows have ids that Rerun makes of the time they are written at: no two recordings are the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ticktree.outputs import markdown
from ticktree.outputs.extras import wanted
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.series import Series, end_of, series_of
from ticktree.outputs.view.headline import losses, title
from ticktree.outputs.writing.literal import encodable
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Timeline

RUN, WALL = "run", "wall"
_MS = 1_000_000


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return a recording; what was not measured has no entity.

    Raises:
        TicktreeError: rerun-sdk is not installed.
    """
    recording = _Recording(wanted("rerun", by="rerun", extra="rerun"), title(profile))
    if options.only != "calls":
        _add_totals(recording, profile)
    if timeline is not None:
        recording.calls(timeline)
    recording.words(markdown.render(profile, options).decode(errors="replace"), losses(profile))
    return recording.bytes()


def _add_totals(recording: _Recording, profile: Profile) -> None:
    for series in series_of(profile):
        recording.section(series)
    end_ns = end_of(profile)
    for _, loop in sorted(profile.loops.items()):
        recording.loop(loop, end_ns)
    for name, gauge in sorted(profile.gauges.items()):
        recording.curve(["gauge", name], WALL, [gauge.last_wall_ns], [gauge.last])


def entity(*parts: str) -> list[str]:
    """Return the names of an entity's path; what cannot be seen in them is an escape, and no two become one.

    Escapes begin with `%5C` instead of a backslash: one before a slash makes Rerun read on as if there were none.
    """
    return [visible(paths.element(part)).replace("%", "%25").replace("\\", "%5C") for part in parts]


class _Recording:
    """A recording in the making, on the library that writes it."""

    def __init__(self, rerun: Any, name: str) -> None:
        self._rerun = rerun
        self._stream = rerun.RecordingStream("ticktree", recording_id=encodable(name), send_properties=False)
        self._stream.set_log_time_enabled(False)
        self._stream.set_log_tick_enabled(False)
        self._sink = self._stream.binary_stream()

    def section(self, series: Series) -> None:
        """Add one section: its curves, and what is known of it in all."""
        where = ["section", *paths.split(series.path)]
        node = series.node
        known = {
            "calls": node.count,
            "total_ns": node.total_ns,
            "self_ns": node.self_ns,
            "concurrent_ns": node.concurrent_ns,
            **{key: getattr(node.stats, key) for key in ("min_ns", "p50_ns", "p99_ns", "max_ns")},
        }
        totals = {key: value for key, value in known.items() if value is not None}
        self._stream.log(entity(*where), self._rerun.AnyValues(**totals), static=True)
        self.curve([*where, "mean_ms"], RUN, series.ends_ns, series.means_ms)
        self.curve([*where, "calls"], RUN, series.ends_ns, series.counts)
        self.curve([*where, "total_ms"], RUN, series.ends_ns, [total / _MS for total in series.totals_ns])

    def loop(self, loop: Loop, end_ns: int) -> None:
        """Add one loop: its budget, and its worst ticks where they began."""
        where = ["loop", *paths.split(loop.path)]
        known = {
            "ticks": loop.ticks,
            "missed": loop.missed if loop.hz else None,
            "busy_ns": loop.busy_ns,
            "achieved_hz": loop.achieved_hz,
            "budget_ns": loop.budget_ns,
        }
        totals = {key: value for key, value in known.items() if value is not None}
        self._stream.log(entity(*where), self._rerun.AnyValues(**totals), static=True)
        if loop.budget_ns is not None and end_ns:
            self.curve([*where, "budget_ms"], RUN, [0, end_ns], [loop.budget_ns / _MS] * 2)
        worst = sorted(loop.worst, key=lambda tick: (tick.started_ns, tick.writer, tick.tick))
        starts = [tick.started_ns for tick in worst]
        self.curve([*where, "worst_ms"], RUN, starts, [tick.duration_ns / _MS for tick in worst])

    def calls(self, timeline: Timeline) -> None:
        """Add every call, as a point where it began that is as high as it took long."""
        for at, spot in enumerate(timeline.spots):
            mine = np.flatnonzero(timeline.spot == at)
            where = ["call", *paths.split(spot.path), "ms"]
            self.curve(where, RUN, timeline.start_ns[mine], timeline.duration_ns[mine] / _MS)

    def curve(self, where: Sequence[str], timeline: str, times_ns: ArrayLike, values: ArrayLike) -> None:
        """Add points of a curve."""
        times_ns = np.asarray(times_ns, np.int64)
        if not len(times_ns):
            return
        kind = "duration" if timeline == RUN else "timestamp"
        dtype = "timedelta64[ns]" if timeline == RUN else "datetime64[ns]"
        times = {kind: times_ns.astype(dtype)}
        self._stream.send_columns(
            self._rerun.new_entity_path(entity(*where)),
            indexes=[self._rerun.TimeColumn(timeline, **times)],
            columns=self._rerun.Scalars.columns(scalars=np.asarray(values, np.float64)),
        )

    def words(self, report: str, lost: Sequence[str]) -> None:
        """Add the report, and what could not be recorded."""
        media = self._rerun.MediaType.MARKDOWN
        self._stream.log("report", self._rerun.TextDocument(report, media_type=media), static=True)
        if lost:
            self._stream.log("not_recorded", self._rerun.TextLog(", ".join(lost), level="WARN"), static=True)

    def bytes(self) -> bytes:
        """Return all of it."""
        content: bytes = self._sink.read() or b""
        return content
