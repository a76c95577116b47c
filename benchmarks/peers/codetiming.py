"""codetiming's `Timer`: a list of all durations per name. Its printing is off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module

from peers import Peer

DISTRIBUTION = "codetiming"


@contextmanager
def load() -> Iterator[list[Peer]]:
    timer = import_module("codetiming").Timer

    def forget() -> None:
        timer.timers = type(timer.timers)()  # its own clear() keeps the lists of durations

    def total_s(path: str) -> float:
        return float(timer.timers[path.rpartition("/")[2]])

    name, section = "codetiming Timer", partial(timer, logger=None)
    yield [Peer.of_section(name, DISTRIBUTION, section, "keeps every duration", forget, total_s)]
