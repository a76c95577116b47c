"""ml-agents' hierarchical timers: a tree of totals and counts per thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from peers import Peer

DISTRIBUTION = "mlagents-envs"


@contextmanager
def load() -> Iterator[list[Peer]]:
    timers = import_module("mlagents_envs.timers")

    def total_s(path: str) -> float:
        node = timers.get_timer_tree()
        for name in path.split("/"):
            node = node["children"][name]
        return float(node["total"])

    yield [Peer.of_section("ml-agents timer", DISTRIBUTION, timers.hierarchical_timer, total_s=total_s)]
