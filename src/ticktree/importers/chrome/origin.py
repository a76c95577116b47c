"""The contents of a trace other than calls: data about the trace, its threads, and gauges from counters."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ticktree.importers.chrome.aggregation import Rows
from ticktree.importers.chrome.events import Column, Event, TraceLane, lane_of, nanoseconds, text_of
from ticktree.profile import Gauge, Thread, timeline
from ticktree.profile import path as paths
from ticktree.profile.gauge import GaugeWindows
from ticktree.profile.metadata import Value

# Larger times in nanoseconds count from 1970: no machine has been up since 2001.
_EPOCH_FROM_NS = 1_000_000_000_000_000_000
_NUMBER = re.compile(r"(?<=\S)\s*#\d+\Z")


class Origin:
    """The contents of a trace other than its events.

    Args:
        trace: the trace's object; empty if the file is a list of events.

    Attributes:
        is_from_ticktree: whether ticktree wrote it.
        loops: paths marked as loops.
        waits: paths marked as waits.
        losses: the losses that the file records.
    """

    def __init__(self, trace: Mapping[str, Any]) -> None:
        self._trace = trace
        other = trace.get("otherData")
        self._ticktree_data: Mapping[str, Any] = other if isinstance(other, dict) else {}
        self.is_from_ticktree = self._ticktree_data.get("exported_by") == "ticktree"
        self.loops = frozenset(self._texts("loops"))
        self.waits = frozenset(self._texts("waits"))
        losses = self._ticktree_data.get("not_recorded") if self.is_from_ticktree else None
        self.losses: dict[str, int] = {
            loss.replace(" ", "_"): count
            for loss, count in (losses.items() if isinstance(losses, dict) else ())
            if type(count) is int and count > 0
        }

    def began_ns(self, start_ns: Column) -> int:
        """Return when the run began by the file's clock, which in ticktree's files is 0 then."""
        return 0 if self.is_from_ticktree or not len(start_ns) else int(start_ns.min())

    def wall_ns(self, began_ns: int) -> int | None:
        """Return when the run began, since the epoch; None if the file does not contain it."""
        for recorded_ns, offset_ns in (
            (self._ticktree_data.get("began_wall_ns"), 0),
            (self._trace.get("baseTimeNanoseconds"), began_ns),
        ):
            if type(recorded_ns) is int and 0 < recorded_ns + offset_ns < 1 << 63:
                return recorded_ns + offset_ns
        return began_ns if began_ns >= _EPOCH_FROM_NS else None

    def node_names(self, names: Sequence[str]) -> Sequence[str]:
        """Return the names of calls' nodes: in other programs' files without numbers, as in `ProfilerStep#12`."""
        return names if self.is_from_ticktree else [_NUMBER.sub("", name) for name in names]

    def explicit_paths(self, events: Sequence[Event]) -> dict[int, tuple[str, ...]]:
        """Return, by index in `events`, the keys from the root to calls that have an explicit path.

        Raises:
            ValueError: a path is invalid.
        """
        if not self.is_from_ticktree:
            return {}
        args_by_index = ((index, event.get("args")) for index, event in enumerate(events))
        return {
            index: paths.split(args["path"])
            for index, args in args_by_index
            if isinstance(args, dict) and isinstance(args.get("path"), str)
        }

    def facts(self) -> Iterator[tuple[str, Value]]:
        """Yield facts about the machine and the program."""
        host, devices = self._trace.get("host_name"), self._trace.get("deviceProperties")
        if isinstance(host, str):
            yield "host", host
        if isinstance(devices, list) and devices:
            yield "gpus", len(devices)
        clocks = self._ticktree_data.get("clocks")
        for clock in clocks if isinstance(clocks, list) else ():
            if isinstance(clock, str):
                yield "clock", clock

    def _texts(self, key: str) -> list[str]:
        values = self._ticktree_data.get(key) if self.is_from_ticktree else None
        return [text for text in values if isinstance(text, str)] if isinstance(values, list) else []


_NAME_BYTES = 47
_FIRST_NUMBER = 1 << 24  # above all process and thread ids


def threads_of(
    lanes: Sequence[TraceLane], labels: Sequence[Event], rows: Rows, main: Collection[int], run_id: str
) -> list[Thread]:
    """Return the thread of each lane, named by the `labels` of processes and threads.

    `main` has the lane of each process in which most of its time went.
    """
    processes = {lane_of(label).pid: _label(label) for label in labels if label.get("name") == "process_name"}
    threads = {lane_of(label): _label(label) for label in labels if label.get("name") == "thread_name"}
    lifetimes: dict[Any, tuple[int, int]] = {}
    starts, ends = np.full(len(lanes), np.iinfo(np.int64).max), np.full(len(lanes), np.iinfo(np.int64).min)
    np.minimum.at(starts, rows.lane, rows.start_ns)
    np.maximum.at(ends, rows.lane, rows.start_ns + rows.duration_ns)
    for index in np.unique(rows.lane).tolist():
        pid, first, last = lanes[index].pid, int(starts[index]), int(ends[index])
        life = lifetimes.get(pid, (first, last))
        lifetimes[pid] = min(first, life[0]), max(last, life[1])
    return [
        Thread(
            id=f"{str(lane.pid).replace('/', '|')}/{index}",  # the process is the part before the slash
            run=run_id,
            process_name=processes.get(lane.pid) or str(lane.pid),
            thread_name=_cut(threads.get(lane) or str(lane.tid)),
            is_main=index in main,
            started_ns=lifetimes.get(lane.pid, (None, None))[0],
            last_ns=lifetimes.get(lane.pid, (None, None))[1],
        )
        for index, lane in enumerate(lanes)
    ]


def lanes_of(lanes: Sequence[TraceLane], threads: Sequence[Thread]) -> tuple[timeline.Lane, ...]:
    """Return the lanes of a timeline with their threads' names; pids and tids that are not numbers get one."""
    pids = {pid: index for index, pid in enumerate(dict.fromkeys(lane.pid for lane in lanes))}
    return tuple(
        timeline.Lane(
            process=thread.process,
            pid=_number(lane.pid, pids[lane.pid]),
            process_name=thread.process_name,
            role=thread.role,
            thread_id=_number(lane.tid, index),
            thread_name=thread.thread_name,
            number=0,
        )
        for index, (lane, thread) in enumerate(zip(lanes, threads, strict=True))
    )


def _number(number: Hashable, index: int) -> int:
    return number if isinstance(number, int) and 0 < number < _FIRST_NUMBER else _FIRST_NUMBER + index


def _label(event: Event) -> str:
    args = event.get("args")
    name = args.get("name") if isinstance(args, dict) else None
    return name if isinstance(name, str) else ""


def _cut(name: str) -> str:
    return name.encode(errors="surrogatepass")[:_NAME_BYTES].decode(errors="ignore")


_LARGEST = 1e300  # NaN is not less than it either


def gauges_of(events: Sequence[Event], began_ns: int, wall_of_zero_ns: int | None) -> dict[str, Gauge]:
    """Return the gauges in counter events, which may have several series.

    The run began at `began_ns` of the file's clock, which was 0 at `wall_of_zero_ns` since the epoch, if known.
    """
    readings: dict[str, list[tuple[int, float, str]]] = {}
    times, are_known = nanoseconds(event.get("ts") for event in events)
    for event, at_ns, is_known in zip(events, times.tolist(), are_known.tolist(), strict=True):
        args = event.get("args")
        series = args if isinstance(args, dict) and is_known else {}
        for key, value in series.items():
            if type(value) in (int, float) and abs(value) < _LARGEST:
                is_only_series = len(series) == 1 and key in ("value", event.get("name"))
                event_name = text_of(event.get("name"))
                name = event_name if is_only_series else f"{event_name}/{key}"
                readings.setdefault(name, []).append((at_ns, float(value), text_of(event.get("pid"))))
    return {name: _gauge(name, series, began_ns, wall_of_zero_ns) for name, series in readings.items()}


def _gauge(
    name: str, readings: list[tuple[int, float, str]], began_ns: int, wall_of_zero_ns: int | None
) -> Gauge:
    at_ns, last, process = max(readings, key=lambda reading: reading[0])
    windows = GaugeWindows.of([(max(0, at_ns - began_ns), value) for at_ns, value, _ in readings])
    return Gauge.of(
        name,
        [value for _, value, _ in readings],
        last=last,
        last_wall_ns=0 if wall_of_zero_ns is None else max(0, wall_of_zero_ns + at_ns),
        process=process,
        windows=windows,
    )
