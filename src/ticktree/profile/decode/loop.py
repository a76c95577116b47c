"""Loops from the objects JSON knows."""

from __future__ import annotations

from ticktree.profile import path as paths
from ticktree.profile.causes import Causes
from ticktree.profile.decode.stats import histogram_from, stats_from
from ticktree.profile.errors import quoted
from ticktree.profile.fields import LIMIT, Fields
from ticktree.profile.lateness import Jitter, Lateness
from ticktree.profile.loop import Loop
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
        waited_ns=fields.whole_or_none("waited_ns"),
        causes=_causes(fields.sub("causes")) if "causes" in fields else None,
        missed_causes=_causes(fields.sub("missed_causes")) if "missed_causes" in fields else None,
        missed_ns=fields.whole_or_none("missed_ns"),
        missed_breakdown=fields.counts("missed_breakdown"),
    )


def _lateness(fields: Fields) -> Lateness:
    return Lateness(
        fields.whole("count"), fields.whole("sum_ns"), fields.whole("max_ns"), histogram_from(fields)
    )


def _jitter(fields: Fields) -> Jitter:
    return Jitter(fields.whole("count"), fields.whole("sum_ns"), histogram_from(fields))


def _causes(fields: Fields) -> Causes:
    return Causes(
        ticks=fields.whole("ticks"),
        gc_ns=fields.whole("gc_ns"),
        voluntary_switches=fields.whole("voluntary_switches"),
        involuntary_switches=fields.whole("involuntary_switches"),
        minor_faults=fields.whole("minor_faults"),
        major_faults=fields.whole("major_faults"),
    )


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
