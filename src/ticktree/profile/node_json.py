"""JSON codecs of a node's fields that are more than numbers and parts; profile_json.py has that of the tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticktree.profile.fields import Codec, Fields, Object
from ticktree.profile.measures import CLOCKS, HOST, CallSite, Clock, Share, Waker, Wakes
from ticktree.profile.stats import Stats
from ticktree.profile.table import from_object, to_object


def clock_of(fields: Fields, key: str = "clock") -> Clock:
    """Return the clock in `fields`, the host's if it is absent."""
    value = fields.raw(key)
    clock: Clock | None = HOST if value is None else next((clock for clock in CLOCKS if clock == value), None)
    if clock is None:
        fields.fail(f"{key!r} should be one of {', '.join(CLOCKS)}")
    return clock


def _read_steady(fields: Fields, key: str) -> Stats:
    """Return the calls after warm-up; without a warm-up these are all calls, which are the node's own fields."""
    return from_object(Stats, fields.sub(key) if key in fields else fields)


def _read_device(fields: Fields, key: str) -> str | None:
    reason = fields.sub(key)
    return reason.text("unsupported") if "unsupported" in reason else None


def _write_call_sites(sites: Mapping[CallSite, int], numbers: Mapping[str, int]) -> list[Object]:
    return [{**to_object(site, numbers), "count": count} for site, count in sorted(sites.items())]


def _read_call_sites(fields: Fields, key: str) -> dict[CallSite, int]:
    return fields.table(key, lambda entry: (from_object(CallSite, entry), entry.integer("count")), "line")


def _read_per_run(fields: Fields, key: str) -> dict[str, tuple[int, int]]:
    runs: dict[str, tuple[int, int]] = {}
    entries = fields.sub(key)
    for run in entries:
        entry = entries.list(run)
        if list(map(type, entry)) != [int, int]:
            entries.fail("should hold two whole numbers per run")
        runs[run] = (entry[0], entry[1])
    return runs


def _write_shares(shares: Mapping[str, Share], numbers: Mapping[str, int]) -> list[list[int]]:
    """Return each thread's part as [thread, calls, total, self]."""
    return sorted([numbers[key], part.count, part.total_ns, part.self_ns] for key, part in shares.items())


def _read_shares(fields: Fields, key: str) -> dict[str, Share]:
    rows = fields.rows(key, 4)
    numbers = [row[0] for row in rows]
    if len(set(numbers)) != len(numbers):
        fields.fail(f"{key!r} has the same thread twice")
    if rows and not 0 <= min(numbers) <= max(numbers) < len(fields.threads):
        fields.fail(f"{key!r} has a thread that there is not")
    return {
        fields.threads[number]: Share(count, total_ns, self_ns) for number, count, total_ns, self_ns in rows
    }


def _write_wakers(wakers: Mapping[Waker, Wakes], numbers: Mapping[str, int]) -> list[Object]:
    """Return the wakers with the longest waits first."""
    longest_first = sorted(wakers.items(), key=lambda entry: (-entry[1].waited_ns, entry[0]))
    return [
        {
            "channel": waker.channel,
            "thread": numbers[waker.thread],
            "by": numbers[waker.by],
            "path": waker.path,
            **to_object(wakes, numbers),
        }
        for waker, wakes in longest_first
    ]


def _read_wakers(fields: Fields, key: str) -> dict[Waker, Wakes]:
    def read(entry: Fields) -> tuple[Waker, Wakes]:
        channel, thread, by = entry.text("channel"), entry.thread("thread"), entry.thread("by")
        return Waker(channel, thread, by, entry.text("path")), from_object(Wakes, entry)

    return fields.table(key, read, "waker")


def _write_per_run(runs: Mapping[str, Any], _: Mapping[str, int]) -> Object:
    return {run: list(runs[run]) for run in sorted(runs)}


CLOCK = Codec(lambda clock, _: clock, clock_of)
STEADY = Codec(to_object, _read_steady)
DEVICE = Codec(lambda reason, _: {"unsupported": reason}, _read_device)
CALL_SITES = Codec(_write_call_sites, _read_call_sites)
PER_RUN = Codec(_write_per_run, _read_per_run)
SHARES = Codec(_write_shares, _read_shares)
WAKERS = Codec(_write_wakers, _read_wakers)
