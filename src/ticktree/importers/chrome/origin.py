"""What a trace holds in addition to its calls: data about itself, its threads, and gauges from counters."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ticktree.importers.chrome.events import Column, Event, TraceLane, lane_of, nanoseconds, text_of
from ticktree.importers.chrome.growing import Rows
from ticktree.profile import Gauge, Writer, timeline
from ticktree.profile import path as paths
from ticktree.profile.gauge import GaugeWindows
from ticktree.profile.metadata import Value

# Times of this many nanoseconds count from 1970: no machine has been up since 2001.
_EPOCH_FROM_NS = 1_000_000_000_000_000_000


class Origin:
    """What a trace holds in addition to its events.

    Args:
        about: the trace's object; empty where the file is a list of events.

    Attributes:
        is_own: whether ticktree wrote it.
        loops: paths that the file says are loops.
        waits: paths that the file says wait.
        losses: what the file says it lacks.
    """

    def __init__(self, about: Mapping[str, Any]) -> None:
        self._about = about
        other = about.get("otherData")
        self._own: Mapping[str, Any] = other if isinstance(other, dict) else {}
        self.is_own = self._own.get("exported_by") == "ticktree"
        self.loops = frozenset(self._texts("loops"))
        self.waits = frozenset(self._texts("waits"))
        lost = self._own.get("not_recorded") if self.is_own else None
        self.losses: dict[str, int] = {
            what.replace(" ", "_"): count
            for what, count in (lost.items() if isinstance(lost, dict) else ())
            if type(count) is int and count > 0
        }

    def began_ns(self, start_ns: Column) -> int:
        """Return when the run began, by the file's clock: ticktree's counts from there, others' from anywhere."""
        return 0 if self.is_own or not len(start_ns) else int(start_ns.min())

    def wall_ns(self, began_ns: int) -> int | None:
        """Return when the run began, since the epoch; None where the file does not say."""
        for known, since in (
            (self._own.get("began_wall_ns"), 0),
            (self._about.get("baseTimeNanoseconds"), began_ns),
        ):
            if type(known) is int and 0 < known + since < 1 << 63:
                return known + since
        return began_ns if began_ns >= _EPOCH_FROM_NS else None

    def explicit_paths(self, events: Sequence[Event]) -> dict[int, tuple[str, ...]]:
        """Return, by place among `events`, the keys from the root to calls whose name and lane do not show them.

        Raises:
            ValueError: a path is invalid.
        """
        if not self.is_own:
            return {}
        found = ((at, event.get("args")) for at, event in enumerate(events))
        return {
            at: paths.split(args["path"])
            for at, args in found
            if isinstance(args, dict) and isinstance(args.get("path"), str)
        }

    def facts(self) -> Iterator[tuple[str, Value]]:
        """Yield what is known of the machine and the program."""
        host, devices = self._about.get("host_name"), self._about.get("deviceProperties")
        if isinstance(host, str):
            yield "host", host
        if isinstance(devices, list) and devices:
            yield "gpus", len(devices)
        clocks = self._own.get("clocks")
        for clock in clocks if isinstance(clocks, list) else ():
            if isinstance(clock, str):
                yield "clock", clock

    def _texts(self, key: str) -> list[str]:
        listed = self._own.get(key) if self.is_own else None
        return [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []


_NAME_BYTES = 47
_FIRST_NUMBER = 1 << 24  # above all that processes and threads have


def writers_of(
    lanes: Sequence[TraceLane], labels: Sequence[Event], rows: Rows, main: Collection[int], run_id: str
) -> list[Writer]:
    """Return the writer of each lane, named by the `labels` of processes and threads.

    `main` has the lane of each process in which most of its time went.
    """
    processes = {lane_of(label).pid: _label(label) for label in labels if label.get("name") == "process_name"}
    threads = {lane_of(label): _label(label) for label in labels if label.get("name") == "thread_name"}
    lives: dict[Any, tuple[int, int]] = {}
    firsts, lasts = np.full(len(lanes), np.iinfo(np.int64).max), np.full(len(lanes), np.iinfo(np.int64).min)
    np.minimum.at(firsts, rows.lane, rows.start_ns)
    np.maximum.at(lasts, rows.lane, rows.start_ns + rows.duration_ns)
    for at in np.unique(rows.lane).tolist():
        pid, first, last = lanes[at].pid, int(firsts[at]), int(lasts[at])
        so_far = lives.get(pid, (first, last))
        lives[pid] = min(first, so_far[0]), max(last, so_far[1])
    return [
        Writer(
            id=f"{str(lane.pid).replace('/', '|')}/{at}",  # what stands before the slash is the process
            run=run_id,
            process_name=processes.get(lane.pid) or str(lane.pid),
            thread_name=_cut(threads.get(lane) or str(lane.tid)),
            is_main=at in main,
            started_ns=lives.get(lane.pid, (None, None))[0],
            last_ns=lives.get(lane.pid, (None, None))[1],
        )
        for at, lane in enumerate(lanes)
    ]


def lanes_of(lanes: Sequence[TraceLane], writers: Sequence[Writer]) -> tuple[timeline.Lane, ...]:
    """Return the lanes as timelines have them, each with its writer's names; words get numbers in place of theirs."""
    pids = {pid: at for at, pid in enumerate(dict.fromkeys(lane.pid for lane in lanes))}
    return tuple(
        timeline.Lane(
            process=writer.process,
            pid=_number(lane.pid, pids[lane.pid]),
            process_name=writer.process_name,
            role=writer.role,
            thread_id=_number(lane.tid, at),
            thread_name=writer.thread_name,
            number=0,
        )
        for at, (lane, writer) in enumerate(zip(lanes, writers, strict=True))
    )


def _number(known: Hashable, place: int) -> int:
    return known if isinstance(known, int) and 0 < known < _FIRST_NUMBER else _FIRST_NUMBER + place


def _label(event: Event) -> str:
    args = event.get("args")
    name = args.get("name") if isinstance(args, dict) else None
    return name if isinstance(name, str) else ""


def _cut(name: str) -> str:
    return name.encode(errors="surrogatepass")[:_NAME_BYTES].decode(errors="ignore")


_LARGEST = 1e300  # and nothing that is no number is less


def gauges_of(events: Sequence[Event], began_ns: int, wall_of_zero_ns: int | None) -> dict[str, Gauge]:
    """Return the gauges that counter events, which may have several series, are readings of.

    The run began at `began_ns` of the file's clock, which was 0 at `wall_of_zero_ns` since the epoch, if known.
    """
    readings: dict[str, list[tuple[int, float, str]]] = {}
    times, are_known = nanoseconds(event.get("ts") for event in events)
    for event, at, is_known in zip(events, times.tolist(), are_known.tolist(), strict=True):
        args = event.get("args")
        series = args if isinstance(args, dict) and is_known else {}
        for key, value in series.items():
            if type(value) in (int, float) and abs(value) < _LARGEST:
                alone = len(series) == 1 and key in ("value", event.get("name"))
                about = text_of(event.get("name"))
                name = about if alone else f"{about}/{key}"
                readings.setdefault(name, []).append((at, float(value), text_of(event.get("pid"))))
    return {name: _gauge(name, found, began_ns, wall_of_zero_ns) for name, found in readings.items()}


def _gauge(
    name: str, readings: list[tuple[int, float, str]], began_ns: int, wall_of_zero_ns: int | None
) -> Gauge:
    at, last, writer = max(readings, key=lambda reading: reading[0])
    windows = GaugeWindows.of([(max(0, at - began_ns), value) for at, value, _ in readings])
    return Gauge.of(
        name,
        [value for _, value, _ in readings],
        last=last,
        last_wall_ns=0 if wall_of_zero_ns is None else max(0, wall_of_zero_ns + at),
        writer=writer,
        windows=windows,
    )
