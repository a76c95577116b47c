"""Writers: the threads of a trace, and what it calls them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np

from ticktree.importers.chrome.events import Event, TraceLane, lane_of
from ticktree.importers.chrome.growing import Rows
from ticktree.profile import Writer, timeline

_NAME_BYTES = 47
_FIRST_NUMBER = 1 << 24  # above all that processes and threads have


def writers_of(
    lanes: Sequence[TraceLane], labels: Sequence[Event], rows: Rows, chief: Collection[int], run_id: str
) -> list[Writer]:
    """Return the writer of each lane.

    Args:
        lanes: Where calls were made.
        labels: The events that name processes and threads.
        rows: The calls.
        chief: The lane of each process in which most of its time went.
        run_id: What the profile calls the run.
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
            is_main=at in chief,
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
