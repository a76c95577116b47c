"""Writers, their parts of nodes, wakers and the critical path as the objects JSON knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ticktree.profile.critical import CriticalPlace
from ticktree.profile.share import Share
from ticktree.profile.wakes import Waker, Wakes
from ticktree.profile.writer import Writer

Object = dict[str, Any]


def writers_list(writers: Mapping[str, Writer]) -> list[Object]:
    """Return `writers` in the order of their ids: all else names them by their place in this list."""
    return [_object(writers[key]) for key in sorted(writers)]


def _object(writer: Writer) -> Object:
    fields = asdict(writer)
    if not writer.host:  # of nearly every run, that of its metadata
        del fields["host"]
    return fields


def critical_list(critical: Mapping[CriticalPlace, int], places: Mapping[str, int]) -> list[Object]:
    """Return the critical path, its longest place first."""
    longest_first = sorted(critical.items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"path": at.path, "writer": places[at.writer], "ns": ns} for at, ns in longest_first]


def shares_rows(shares: Mapping[str, Share], places: Mapping[str, int]) -> list[list[int]]:
    """Return each writer's part of a node as [writer, calls, total, own]."""
    rows = ([places[key], part.count, part.total_ns, part.self_ns] for key, part in shares.items())
    return sorted(rows)


def wakers_list(wakers: Mapping[Waker, Wakes], places: Mapping[str, int]) -> list[Object]:
    """Return who let calls of a node go on, who let them wait longest first."""
    longest_first = sorted(wakers.items(), key=lambda entry: (-entry[1].waited_ns, entry[0]))
    return [
        {
            "channel": waker.channel,
            "writer": places[waker.writer],
            "by": places[waker.by],
            "path": waker.path,
            **asdict(wakes),
        }
        for waker, wakes in longest_first
    ]
