"""How JSON has the fields of a node that are more than numbers and parts; a tree of nodes is in profile_json.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticktree.profile.fields import Codec, Fields, Object
from ticktree.profile.measures import CLOCKS, HOST, CallSite, Clock, Share, Waker, Wakes
from ticktree.profile.stats import Stats
from ticktree.profile.table import object_of, part_from


def clock_of(fields: Fields, key: str = "clock") -> Clock:
    """Return the clock in `fields`, the host's where it is absent."""
    value = fields.raw(key)
    clock: Clock | None = HOST if value is None else next((each for each in CLOCKS if each == value), None)
    if clock is None:
        fields.fail(f"{key!r} should be one of {', '.join(CLOCKS)}")
    return clock


def _steady(fields: Fields, key: str) -> Stats:
    """The calls after warm-up, which are all where there is none; those are the node's own fields."""
    return part_from(Stats, fields.sub(key) if key in fields else fields)


def _device(fields: Fields, key: str) -> str | None:
    reason = fields.sub(key)
    return reason.text("unsupported") if "unsupported" in reason else None


def _write_call_sites(sites: Mapping[CallSite, int], numbers: Mapping[str, int]) -> list[Object]:
    return [{**object_of(site, numbers), "count": count} for site, count in sorted(sites.items())]


def _call_sites(fields: Fields, key: str) -> dict[CallSite, int]:
    return fields.table(key, lambda entry: (part_from(CallSite, entry), entry.whole("count")), "line")


def _per_run(fields: Fields, key: str) -> dict[str, tuple[int, int]]:
    runs: dict[str, tuple[int, int]] = {}
    entries = fields.sub(key)
    for run in entries:
        entry = entries.list(run)
        if list(map(type, entry)) != [int, int]:
            entries.fail("should hold two whole numbers per run")
        runs[run] = (entry[0], entry[1])
    return runs


def _write_shares(shares: Mapping[str, Share], numbers: Mapping[str, int]) -> list[list[int]]:
    """Each writer's part as [writer, calls, total, own]."""
    return sorted([numbers[key], part.count, part.total_ns, part.self_ns] for key, part in shares.items())


def _shares(fields: Fields, key: str) -> dict[str, Share]:
    rows = fields.rows(key, 4)
    places = [row[0] for row in rows]
    if len(set(places)) != len(places):
        fields.fail(f"{key!r} has the same writer twice")
    if rows and not 0 <= min(places) <= max(places) < len(fields.writers):
        fields.fail(f"{key!r} has a writer that there is not")
    return {
        fields.writers[place]: Share(count, total_ns, self_ns) for place, count, total_ns, self_ns in rows
    }


def _write_wakers(wakers: Mapping[Waker, Wakes], numbers: Mapping[str, int]) -> list[Object]:
    """Those that let it wait longest first."""
    longest_first = sorted(wakers.items(), key=lambda entry: (-entry[1].waited_ns, entry[0]))
    return [
        {
            "channel": waker.channel,
            "writer": numbers[waker.writer],
            "by": numbers[waker.by],
            "path": waker.path,
            **object_of(wakes, numbers),
        }
        for waker, wakes in longest_first
    ]


def _wakers(fields: Fields, key: str) -> dict[Waker, Wakes]:
    def read(entry: Fields) -> tuple[Waker, Wakes]:
        channel, writer, by = entry.text("channel"), entry.writer("writer"), entry.writer("by")
        return Waker(channel, writer, by, entry.text("path")), part_from(Wakes, entry)

    return fields.table(key, read, "waker")


def _as_lists(runs: Mapping[str, Any], _: Mapping[str, int]) -> Object:
    return {run: list(runs[run]) for run in sorted(runs)}


CLOCK = Codec(lambda clock, _: clock, clock_of)
STEADY = Codec(object_of, _steady)
DEVICE = Codec(lambda reason, _: {"unsupported": reason}, _device)
CALL_SITES = Codec(_write_call_sites, _call_sites)
PER_RUN = Codec(_as_lists, _per_run)
SHARES = Codec(_write_shares, _shares)
WAKERS = Codec(_write_wakers, _wakers)
