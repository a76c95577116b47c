"""Chrome traces as tests write them."""

from __future__ import annotations

import json

from ticktree.importers.chrome import profile_of
from ticktree.profile import Profile

US = 1000


def call(name, start, length, *, pid=1, tid=1, cat="user_annotation", **more):
    """A complete event, in microseconds."""
    return {
        "ph": "X",
        "name": name,
        "cat": cat,
        "ts": start,
        "dur": length,
        "pid": pid,
        "tid": tid,
        **more,
    }


def begin(name, time, **more):
    return {"ph": "B", "name": name, "cat": "user_annotation", "ts": time, "pid": 1, "tid": 1, **more}


def end(time, **more):
    return {"ph": "E", "ts": time, "pid": 1, "tid": 1, **more}


def read(events, categories=(), **about):
    """The profile of events, as a file of them would give it, and again from its JSON."""
    value = json.loads(json.dumps({"traceEvents": events, **about}))
    profile = profile_of(value, "trace", categories)
    profile.check()
    assert Profile.from_json(profile.to_json()) == profile
    return profile


def totals(profile):
    """Calls, total and own microseconds of each path."""
    return {
        path: (node.count, node.total_ns / US, node.self_ns / US)
        for path, _, node in profile.root.walk()
        if path
    }
