"""TorchRL's `timeit`: a running mean, a total and a count per name, in one flat dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from peers import Peer

DISTRIBUTION = "torchrl"


@contextmanager
def load() -> Iterator[list[Peer]]:
    timeit = import_module("torchrl").timeit

    def total_s(path: str) -> float:
        return float(timeit.todict(percall=False)[path.rpartition("/")[2]])

    yield [Peer.of_section("torchrl timeit", DISTRIBUTION, timeit, total_s=total_s)]
