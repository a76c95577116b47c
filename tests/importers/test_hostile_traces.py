"""Chrome traces that somebody made to be read slowly, or not at all."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from support.chrome_traces import begin, call, end
from ticktree.importers.chrome import profile_of, timeline_of
from ticktree.importers.chrome.events import calls_of
from ticktree.importers.chrome.nesting import nest
from ticktree.profile.timeline import Timeline


def steps(work) -> int:
    """How many lines of our own Python `work` executes."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        count += event == "line"
        return trace if "chrome" in frame.f_code.co_filename else None

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


HOSTILE = {
    "overlapping": lambda n: [call("x", at, 100_000) for at in range(n)],
    "overlapping and nested": lambda n: [
        call("x", 10 * at + inner, 50_000 - 2 * inner) for at in range(n // 5) for inner in range(5)
    ],
    "ends of others": lambda n: [
        *(begin("a", at) for at in range(n)),
        *(end(n + at, name="b") for at in range(n)),
    ],
    "deep, and beside that": lambda n: [
        *(call("x", at, 10 * n - 2 * at) for at in range(n)),
        *(call("y", n + 2 * at, 12 * n) for at in range(n)),
    ],
    "categories": lambda n: [call("x", at, 1, cat=f"c{at}") for at in range(n)],
}


@pytest.mark.parametrize("events", HOSTILE.values(), ids=HOSTILE)
def test_twice_the_events_take_about_twice_the_steps(events):
    small, large = (events(size) for size in (300, 1200))
    steps_small, steps_large = (
        steps(lambda events=events: nest(calls_of(events))) for events in (small, large)
    )
    assert steps_large < 4 * 2 * steps_small


def test_a_process_with_a_name_each_takes_no_more_steps_than_it_has_events():
    def processes(count):
        return [
            event
            for pid in range(count)
            for event in (
                {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"p{pid}"}},
                *(call(f"n{pid}", 10 * at, 5, pid=pid) for at in range(3)),
            )
        ]

    small, large = (processes(count) for count in (50, 200))
    steps_small, steps_large = (
        steps(lambda events=events: profile_of(events, "x")) for events in (small, large)
    )
    assert steps_large < 4 * 2 * steps_small


@pytest.mark.parametrize("seed", range(60))
def test_every_call_lies_in_what_it_is_made_in(seed):
    noise = random.Random(seed)
    span = noise.choice([20, 100, 1000])
    events = [
        call(noise.choice("abc"), noise.randint(0, span), noise.randint(0, span), tid=noise.randint(0, 1))
        for _ in range(noise.randint(1, 80))
    ]
    found = nest(calls_of(events))
    assert np.all(found.end_ns >= found.start_ns)
    for inner, outer in enumerate(found.parent.tolist()):
        if outer >= 0:
            assert found.lane[inner] == found.lane[outer]
            assert found.end_ns[inner] <= found.end_ns[outer]
            assert found.start_ns[outer] <= found.start_ns[inner] or found.is_beside[inner]


def deep(depth=100_000):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("where", ["name", "args", "pid", "tid", "cat", "ph", "ts", "dur"])
@pytest.mark.parametrize("phase", ["X", "B", "C", "M"])
def test_what_is_nested_too_deep_is_no_name(where, phase):
    event = {**call("x", 1, 2), "ph": phase, "args": {"value": 1}, where: deep()}
    events = [call("good", 0, 10), event]
    profile_of(events, "x").check()
    assert isinstance(timeline_of(events), Timeline)


def test_a_device_and_a_counter_with_deep_names_are_read():
    work = call("k", 1, 2, cat="kernel", args={"device": deep(), "correlation": 1})
    counter = {"ph": "C", "name": deep(), "pid": deep(), "ts": 1, "args": {"a": 1, "b": 2}}
    profile = profile_of([call("good", 0, 10), work, counter], "x")
    assert set(profile.gauges) == {"(list)/a", "(list)/b"}
