"""NVIDIA's nvtx ranges. Without an attached tool they record nothing: this measures only the cost of the calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import repeat

from peers import Peer

DISTRIBUTION = "nvtx"
NOTE = "no tool attached: records nothing"


@contextmanager
def load() -> Iterator[list[Peer]]:
    nvtx = import_module("nvtx")
    domain = nvtx.get_domain("benchmark")
    attributes = domain.get_event_attributes(message="x")

    def push_pop(turns: int) -> None:
        push, pop = domain.push_range, domain.pop_range
        for _ in repeat(None, turns):
            push(attributes)
            pop()

    yield [
        Peer("nvtx push/pop", DISTRIBUTION, None, push_pop, NOTE),
        Peer.of_section("nvtx annotate", DISTRIBUTION, nvtx.annotate, NOTE),
    ]
