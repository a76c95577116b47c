"""Profiles that could be, for hypothesis: every field is filled, and `check()` holds by construction."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from ticktree.profile import (
    CallSite,
    Cpu,
    FirstTicks,
    Gauge,
    Histogram,
    Jitter,
    Lateness,
    Loop,
    Memory,
    Node,
    Open,
    Profile,
    Stats,
    Windows,
    Work,
    WorstTick,
)
from ticktree.profile.ticks import worst_of
from ticktree.profile.windows import BASE_WIDTH_NS

amounts = st.integers(0, 10**15)
small = st.integers(0, 50)
# Few and often the same, so that trees overlap when they merge; and some that are a nuisance.
names = st.sampled_from(
    ["update", "sample", "a/b", "back\\slash", "", "unaccounted", "שלום", "\x1b[31m", "\u202e", "|"]
)
any_text = st.text(max_size=8)
runs = st.sampled_from(["run-1", "run-2"])


@st.composite
def calls(draw, most=6):
    """Durations of calls, each with the window it ended in."""
    return draw(st.lists(st.tuples(amounts, st.integers(0, 40)), max_size=most))


def stats_of(booked) -> Stats:
    return Stats.of(duration for duration, _ in booked)


def windows_of(booked, doublings: int) -> Windows:
    counts: dict[int, int] = {}
    totals: dict[int, int] = {}
    for duration, index in booked:
        counts[index] = counts.get(index, 0) + 1
        totals[index] = totals.get(index, 0) + duration
    return Windows(BASE_WIDTH_NS * 2**doublings, counts, totals)


stats = calls().map(stats_of)
histograms = st.lists(amounts, max_size=8).map(Histogram.of)
windows = st.builds(windows_of, calls(), st.integers(0, 5))
call_sites = st.builds(CallSite, st.sampled_from(["train.py", "env.py"]), small, any_text)


@st.composite
def nodes(draw, name, depth=3):
    steady, warmup = draw(calls()), draw(st.none() | calls())
    booked = steady + (warmup or [])
    own_ns = draw(amounts)
    below = draw(st.lists(names, max_size=3, unique=True)) if depth else []
    return Node(
        name=name,
        own_ns=own_ns,
        concurrent_ns=draw(st.integers(-(10**15), 10**15)),
        steady=stats_of(steady),
        warmup=None if warmup is None else stats_of(warmup),
        windows=windows_of(booked, draw(st.integers(0, 4))) if draw(st.booleans()) else Windows(),
        wait=draw(st.booleans()),
        call_sites=draw(st.dictionaries(call_sites, st.integers(1, 9), max_size=2)),
        work=draw(st.none() | st.builds(Work, amounts, amounts, amounts)),
        cpu=draw(st.none() | st.builds(Cpu, small, amounts, amounts)),
        memory=draw(st.none() | st.builds(Memory, small, st.integers(-(10**9), 10**9), amounts)),
        device=draw(st.none() | st.sampled_from(["unsupported: no GPU", "unsupported: no events"])),
        open=draw(st.none() | st.builds(Open, st.integers(1, 4), amounts)),
        recorder_ns=draw(st.integers(0, own_ns)),
        per_run={draw(runs): (len(booked), sum(duration for duration, _ in booked))} if booked else {},
        children={each: draw(nodes(each, depth - 1)) for each in below},
    )


causes = st.dictionaries(st.sampled_from(["gc_ns", "major_faults", "voluntary_switches"]), small, max_size=2)
breakdowns = st.dictionaries(st.sampled_from(["control/plan", "control/act"]), amounts, max_size=2)
worst_ticks = st.builds(WorstTick, small, st.sampled_from("ab"), small, amounts, breakdowns, causes)
first_ticks = st.builds(FirstTicks, small, st.sampled_from("ab"), st.lists(amounts, max_size=3).map(tuple))


@st.composite
def loops(draw, path):
    steady, warmup_ticks = draw(stats), draw(small)
    ticks = steady.count + warmup_ticks
    missed = draw(st.integers(0, ticks))
    return Loop(
        path=path,
        ticks=ticks,
        incomplete=draw(small),
        hz=frozenset(draw(st.sets(st.sampled_from([30.0, 100.0, 0.5]), max_size=2))),
        missed=missed,
        longest_miss_run=draw(st.integers(0, missed)),
        warmup_ticks=warmup_ticks,
        stats=steady,
        lateness=draw(st.none() | st.builds(Lateness, small, amounts, amounts)),
        jitter=draw(st.none() | st.builds(Jitter, small, amounts)),
        busy_ns=draw(amounts),
        first_ticks=draw(st.none() | first_ticks),
        worst=worst_of(draw(st.lists(worst_ticks, max_size=12))),
    )


readings = st.floats(-1e9, 1e9, allow_nan=False) | st.integers(-5, 5).map(float)


@st.composite
def gauges(draw, name):
    values = draw(st.lists(readings, min_size=1, max_size=6))
    return gauge_of(name, values, draw(small), draw(st.sampled_from("ab")))


def gauge_of(name, values, last_wall_ns=0, writer="a") -> Gauge:
    return Gauge(
        name=name,
        last=values[-1],
        last_wall_ns=last_wall_ns,
        writer=writer,
        count=len(values),
        min=min(values),
        max=max(values),
        positive=Histogram.of(value for value in values if value > 0),
        negative=Histogram.of(-value for value in values if value < 0),
        zeros=sum(value == 0 for value in values),
    )


finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.sampled_from([1, 1.0, True, 0, False, "1"]) | any_text | st.integers() | st.booleans() | finite
metadata = st.dictionaries(
    st.sampled_from(["host", "threads", "x"]), st.frozensets(values, max_size=3), max_size=2
)
losses = st.dictionaries(st.sampled_from(["unwound", "names_cut"]), small, max_size=2)


@st.composite
def profiles(draw):
    root = draw(nodes("root"))
    paths = [path for path, depth, _ in root.walk() if depth]
    chosen = draw(st.lists(st.sampled_from(paths), max_size=2, unique=True)) if paths else []
    return Profile(
        root=root,
        loops={path: draw(loops(path)) for path in chosen},
        gauges={name: draw(gauges(name)) for name in draw(st.sets(names, max_size=2))},
        metadata=draw(metadata),
        losses=draw(losses),
    )


def quantile_by_sorting(values, q: float) -> float:
    """The nearest-rank quantile, the slow and obvious way."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(round(q * len(ordered), 9))) - 1]
