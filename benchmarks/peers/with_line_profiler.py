"""with-line-profiler's accounting: a tree of phases with histograms, and CPU time by default.

Its sampling and flushing threads are off: a phase is measured, not what happens once per second in the background.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

from peers import Peer

DISTRIBUTION = "with-line-profiler"
NO_THREADS: dict[str, Any] = {"snapshot_interval_s": None, "sample_interval_s": None}


@contextmanager
def load() -> Iterator[list[Peer]]:
    profiler = import_module("lineprofiler.accounting").Profiler
    with (
        TemporaryDirectory() as one,
        TemporaryDirectory() as other,
        profiler(run_dir=one, measure_cpu=True, **NO_THREADS) as full,
        profiler(run_dir=other, measure_cpu=False, **NO_THREADS) as lean,
    ):
        yield [
            Peer.of_section("with-line-profiler phase", DISTRIBUTION, full.phase, "reads CPU time too"),
            Peer.of_section("with-line-profiler phase, no CPU time", DISTRIBUTION, lean.phase),
        ]
