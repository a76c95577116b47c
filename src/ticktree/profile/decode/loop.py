"""Loops from the objects JSON knows."""

from __future__ import annotations

from ticktree.profile import path as paths
from ticktree.profile.decode.stats import stats_from
from ticktree.profile.errors import quoted
from ticktree.profile.fields import LIMIT, Fields
from ticktree.profile.loop import Jitter, Lateness, Loop
from ticktree.profile.ticks import FirstTicks, WorstTick


def loop_from(fields: Fields) -> Loop:
    """Return the loop in `fields`."""
    path = fields.text("path")
    fields.where = f"loop {quoted(path)}"
    try:
        names = paths.split(path)
    except ValueError as error:
        fields.fail(str(error))
    if not names or fields.text("name") != names[-1]:
        fields.fail("its name is not the last of its path")
    rates = fields.raw("hz")
    listed = rates if isinstance(rates, list) else [] if rates is None else [rates]
    return Loop(
        path=path,
        ticks=fields.whole("ticks"),
        incomplete=fields.whole("incomplete", 0),
        hz=frozenset(fields.finite("hz", rate) for rate in listed),
        missed=fields.whole_or_none("missed") or 0,
        longest_miss_run=fields.whole_or_none("longest_miss_run") or 0,
        warmup_ticks=fields.whole("warmup_ticks", 0),
        stats=stats_from(fields.sub("steady")),
        lateness=_lateness(fields.sub("lateness")) if "lateness" in fields else None,
        jitter=_jitter(fields.sub("jitter")) if "jitter" in fields else None,
        busy_ns=fields.whole("busy_ns"),
        first_ticks=_first(fields.sub("first_ticks")) if "first_ticks" in fields else None,
        worst=tuple(_worst(Fields(tick, f"{fields.where}: 'worst'")) for tick in fields.list("worst")),
    )


def _lateness(fields: Fields) -> Lateness:
    return Lateness(fields.whole("count"), fields.whole("sum_ns"), fields.whole("max_ns"))


def _jitter(fields: Fields) -> Jitter:
    return Jitter(fields.whole("count"), fields.whole("sum_ns"))


def _first(fields: Fields) -> FirstTicks:
    durations_ns = fields.list("durations_ns")
    if not all(type(duration) is int and 0 <= duration < LIMIT for duration in durations_ns):
        fields.fail("'durations_ns' should hold whole numbers")
    return FirstTicks(fields.whole("started_wall_ns"), fields.text("writer"), tuple(durations_ns))


def _worst(fields: Fields) -> WorstTick:
    return WorstTick(
        duration_ns=fields.whole("duration_ns"),
        writer=fields.text("writer"),
        tick=fields.whole("tick"),
        started_ns=fields.whole("started_ns"),
        breakdown=fields.counts("breakdown"),
        causes=fields.counts("causes"),
    )
