"""Valid random profiles for hypothesis: every field is filled, and `check()` holds by construction.

A strategy that is the same for every node is made once: hypothesis looks long at one that is new to it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import strategies as st

from ticktree.profile import (
    CLOCKS,
    CallSite,
    Causes,
    CodeLine,
    Cpu,
    CriticalNode,
    FirstTicks,
    Gauge,
    Histogram,
    Jitter,
    Lateness,
    Loop,
    Memory,
    Node,
    OpenCalls,
    Profile,
    SampledStack,
    Samples,
    Share,
    Stats,
    Thread,
    Waker,
    Wakes,
    Weight,
    Windows,
    Work,
    WorstTick,
)
from ticktree.profile.gauge import GaugeWindows
from ticktree.profile.loop import longest_ticks
from ticktree.profile.samples import DROPS, STATES
from ticktree.profile.stats import BASE_WIDTH_NS

amounts = st.integers(0, 10**15)
small = st.integers(0, 50)
# Few and often the same, so that trees overlap when they merge; and some that are a nuisance.
names = st.sampled_from(
    [
        "update",
        "sample",
        "update@device",
        "a/b",
        "back\\slash",
        "",
        "unaccounted",
        "שלום",
        "\x1b[31m",
        "\u202e",
        "|",
    ]
)
clocks = st.sampled_from(["host", "host", *CLOCKS])
any_text = st.text(max_size=8)
runs = st.sampled_from(["run-1", "run-2"])


# Durations of calls, each with the window it ended in.
calls = st.lists(st.tuples(amounts, st.integers(0, 40)), max_size=6)


def stats_of(durations) -> Stats:
    return Stats.of(duration for duration, _ in durations)


def windows_of(durations, doublings: int) -> Windows:
    counts: dict[int, int] = {}
    totals: dict[int, int] = {}
    for duration, index in durations:
        counts[index] = counts.get(index, 0) + 1
        totals[index] = totals.get(index, 0) + duration
    return Windows(BASE_WIDTH_NS * 2**doublings, counts, totals)


stats = calls.map(stats_of)
histograms = st.lists(amounts, max_size=8).map(Histogram.of)
windows = st.builds(windows_of, calls, st.integers(0, 5))
call_sites = st.builds(CallSite, st.sampled_from(["train.py", "env.py"]), small, any_text)


ids = st.sampled_from(["7-70/18", "7-70/52", "9-91/18", "9-91-2/18"])


@st.composite
def wakes(draw):
    waited_ns = draw(amounts)
    return Wakes(draw(st.integers(1, 9)), waited_ns, draw(st.integers(0, waited_ns)))


wakers = st.builds(Waker, st.sampled_from(["batch", "join"]), ids, ids, st.just(""))
woken = st.dictionaries(wakers, wakes(), max_size=2)
its_threads = st.lists(ids, max_size=3, unique=True)


@st.composite
def shared_out(draw, node):
    """The node with its calls and times dealt out to threads; nobody's, where there are none."""
    parts = {}
    remaining = Share(node.count, node.total_ns, node.self_ns)
    threads = draw(its_threads)
    for thread in threads[1:]:
        count, self_ns = draw(st.integers(0, remaining.count)), draw(st.integers(0, remaining.self_ns))
        parts[thread] = Share(count, draw(amounts), self_ns)
        remaining += Share(-count, -parts[thread].total_ns, -self_ns)
    return replace(node, by_thread={**parts, threads[0]: remaining} if threads else {})


@st.composite
def memories(draw, devices=st.just(frozenset())):  # noqa: B008
    peak = draw(amounts)
    growth = draw(st.none() | st.integers(0, peak))
    change = draw(st.integers(-(10**9), 10**9))
    return Memory(draw(small), change, peak, growth, draw(st.booleans()), draw(devices))


maybe_calls = st.none() | calls
maybe_memory = st.none() | memories()
maybe_device_memory = st.none() | memories(st.frozensets(st.sampled_from(["cuda:0", "mps"])))
maybe_work = st.none() | st.builds(Work, amounts, amounts, amounts)
maybe_cpu = st.none() | st.builds(Cpu, small, amounts, amounts)
maybe_device = st.none() | st.sampled_from(["no GPU", "no events"])
maybe_open = st.none() | st.builds(OpenCalls, st.integers(1, 4), amounts)
keys = st.lists(st.tuples(names, clocks), max_size=3, unique=True)
sites = st.dictionaries(call_sites, st.integers(1, 9), max_size=2)


@st.composite
def nodes(draw, name, depth=3, clock="host"):
    steady, warmup = draw(calls), draw(maybe_calls)
    durations = steady + (warmup or [])
    self_ns = draw(st.integers(1, 10**15))  # time that is nobody's is told from no time by not being 0
    below = draw(keys) if depth else []
    children = [draw(nodes(child_name, depth - 1, its_clock)) for child_name, its_clock in below]
    node = Node(
        name=name,
        clock=clock,
        self_ns=self_ns,
        concurrent_ns=draw(st.integers(-(10**15), 10**15)),
        steady=stats_of(steady),
        warmup=None if warmup is None else stats_of(warmup),
        windows=windows_of(durations, draw(st.integers(0, 4))) if draw(st.booleans()) else Windows(),
        wait=draw(st.booleans()),
        call_sites=draw(sites),
        work=draw(maybe_work),
        cpu=draw(maybe_cpu),
        memory=draw(maybe_memory),
        device_memory=draw(maybe_device_memory),
        device=draw(maybe_device),
        open=draw(maybe_open),
        recorder_ns=draw(st.integers(0, self_ns)),
        raised=draw(st.integers(0, len(durations))),
        per_run={draw(runs): (len(durations), sum(duration for duration, _ in durations))}
        if durations
        else {},
        wakers=draw(woken),
        children={child.key: child for child in children},
    )
    return draw(shared_out(node))


causes = st.dictionaries(st.sampled_from(["gc_ns", "major_faults", "voluntary_switches"]), small, max_size=2)
breakdowns = st.dictionaries(st.sampled_from(["control/plan", "control/act"]), amounts, max_size=2)
worst_ticks = st.builds(WorstTick, small, st.sampled_from("ab"), small, amounts, breakdowns, causes)
first_ticks = st.builds(FirstTicks, small, st.sampled_from("ab"), st.lists(amounts, max_size=3).map(tuple))


@st.composite
def latenesses(draw):
    values = draw(st.lists(amounts, max_size=5))
    histogram = Histogram.of(values) if draw(st.booleans()) else Histogram()
    return Lateness(len(values), sum(values), max(values, default=0), histogram)


@st.composite
def jitters(draw):
    steps = draw(st.lists(amounts, max_size=5))
    return Jitter(len(steps), sum(steps), Histogram.of(steps) if draw(st.booleans()) else Histogram())


@st.composite
def causes_of(draw, most):
    """What happened in `most` ticks, known of some of them; None where of none."""
    strategy = st.builds(Causes, st.integers(0, most), amounts, small, small, small, small)
    return draw(st.none() | strategy)


rates = st.sets(st.sampled_from([30.0, 100.0, 0.5]), max_size=2).map(frozenset)
maybe_amount = st.none() | amounts
maybe_lateness = st.none() | latenesses()
maybe_jitter = st.none() | jitters()
maybe_first_ticks = st.none() | first_ticks
worst = st.lists(worst_ticks, max_size=12).map(longest_ticks)


@st.composite
def loops(draw, path):
    steady, warmup_ticks = draw(stats), draw(small)
    ticks = steady.count + warmup_ticks
    missed_ticks = draw(st.integers(0, ticks))
    missed_ns = draw(maybe_amount)
    return Loop(
        path=path,
        ticks=ticks,
        incomplete=draw(small),
        hz=draw(rates),
        missed=missed_ticks,
        longest_miss_run=draw(st.integers(0, missed_ticks)),
        warmup_ticks=warmup_ticks,
        stats=steady,
        lateness=draw(maybe_lateness),
        jitter=draw(maybe_jitter),
        busy_ns=draw(amounts),
        first_ticks=draw(maybe_first_ticks),
        worst=draw(worst),
        waited_ns=draw(maybe_amount),
        causes=draw(causes_of(steady.count)),
        missed_causes=draw(causes_of(missed_ticks)),
        missed_ns=missed_ns,
        missed_breakdown={} if missed_ns is None else draw(breakdowns),
    )


readings = st.floats(-1e9, 1e9, allow_nan=False) | st.integers(-5, 5).map(float)
read = st.lists(readings, min_size=1, max_size=6)
process_names = st.sampled_from("ab")


@st.composite
def gauges(draw, name):
    values = draw(read)
    times = draw(st.none() | st.lists(amounts, min_size=len(values), max_size=len(values)))
    windows = times and GaugeWindows.of([*zip(times, values, strict=True)])
    return gauge_of(name, values, draw(small), draw(process_names), windows)


def gauge_of(name, values, last_wall_ns=0, process="a", windows=None) -> Gauge:
    return Gauge.of(
        name, values, last=values[-1], last_wall_ns=last_wall_ns, process=process, windows=windows
    )


finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.sampled_from([1, 1.0, True, 0, False, "1"]) | any_text | st.integers() | st.booleans() | finite
metadata = st.dictionaries(
    st.sampled_from(["host", "threads", "x"]), st.frozensets(values, max_size=3), max_size=2
)
losses = st.dictionaries(st.sampled_from(["unwound", "names_cut"]), small, max_size=2)


roles = st.sampled_from(["", "actor", "learner"])


@st.composite
def threads(draw, key, paths):
    started_ns, lived_ns = draw(maybe_amount), draw(amounts)
    return Thread(
        id=key,
        run=draw(runs),
        process_name=draw(any_text),
        thread_name=draw(any_text),
        role=draw(roles),
        is_main=draw(st.booleans()),
        parent=draw(st.sampled_from(paths)),
        started_ns=started_ns,
        last_ns=None if started_ns is None else started_ns + lived_ns,
        members=draw(st.integers(1, 3)),
        gc_ns=draw(amounts),
        host=draw(st.sampled_from(["", "node-1"])),
    )


def named_in(root) -> set[str]:
    """The ids of the threads that the tree names."""
    ids = set()
    for _, _, node in root.walk():
        ids |= node.by_thread.keys()
        ids |= {id_ for waker in node.wakers for id_ in (waker.thread, waker.by)}
    return ids


code_lines = st.builds(
    CodeLine,
    st.sampled_from(["crunch", "Runner.run", "<module>", "f;g", "", "</script>", "\ud800"]),
    st.sampled_from(["train.py", "/a b/env.py", ""]),
    st.integers(0, 3),
)
code = st.lists(code_lines, max_size=4).map(tuple)
weights = st.builds(Weight, st.integers(1, 9), st.just(0) | amounts)
drops = st.dictionaries(st.sampled_from(DROPS), small, max_size=2)
threads_apart = st.sampled_from(["", "", "other threads"])
states = st.sampled_from(STATES)


@st.composite
def samples(draw, paths):
    """Samples of some of these nodes, and of threads that are in no account."""
    stacks = st.builds(SampledStack, st.sampled_from(paths), threads_apart, states, code)
    weights_by_stack = draw(st.dictionaries(stacks, weights, max_size=6))
    return Samples(weights_by_stack, draw(drops), draw(small), draw(small), draw(amounts))


more_ids = st.lists(ids, min_size=1, max_size=2)
gauge_names = st.sets(names, max_size=2)


@st.composite
def profiles(draw):
    root = draw(nodes("root"))
    every = [path for path, _, _ in root.walk()]
    paths = every[1:]
    chosen = draw(st.lists(st.sampled_from(paths), max_size=2, unique=True)) if paths else []
    ids = sorted(named_in(root) | set(draw(more_ids)))
    places = st.builds(CriticalNode, st.sampled_from(ids), st.sampled_from(every))
    return Profile(
        root=root,
        loops={path: draw(loops(path)) for path in chosen},
        gauges={name: draw(gauges(name)) for name in draw(gauge_names)},
        metadata=draw(metadata),
        losses=draw(losses),
        threads={key: draw(threads(key, every)) for key in ids},
        critical=draw(st.dictionaries(places, st.integers(1, 10**15), max_size=3)),
        timeline_calls=draw(small),
        samples=draw(samples(every)) if draw(st.booleans()) else None,
    )


def quantile_by_sorting(values, q: float) -> float:
    """The nearest-rank quantile, the slow and obvious way."""
    sorted_values = sorted(values)
    return sorted_values[max(1, math.ceil(round(q * len(sorted_values), 9))) - 1]
