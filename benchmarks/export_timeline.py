"""Cost of writing a timeline for viewers: seconds and bytes per event, compared with viztracer.

    python benchmarks/export_timeline.py [--events 1000000] [--rounds 3]

The events are those of a loop with five sections a tick, recorded by this process. viztracer, where it is installed,
records as many `log_event` blocks of the same names and saves them as its JSON; all take turns. Seconds are those of
the clock on the wall and, in brackets, of the processor: the same where nothing else runs. The page is drawn from the
timeline too, where it shows one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import ticktree
from ticktree.outputs import EXPORTS, OUTPUTS, Output, ViewOptions
from ticktree.profile.timeline import Timeline

_SECTIONS = ("observe", "policy", "act", "learn")
_EVENTS_A_TICK = 6


def record(events: int) -> tuple[ticktree.Profile, Timeline]:
    """Records so many events, and gives what was recorded."""
    recorder = ticktree.Recorder(timeline=events)
    for _ in recorder.loop("train", range(events // _EVENTS_A_TICK + 1), warmup=0):
        for name in _SECTIONS:
            with recorder.section(name):
                if name == "learn":
                    with recorder.section("backward"):
                        pass
    recorder.disable()
    timeline = recorder.timeline()
    if timeline is None or len(timeline) != events:
        sys.exit(
            f"{events} events were requested and {timeline and len(timeline)} are there: too little memory?"
        )
    return recorder.snapshot(), timeline


def record_with_viztracer(events: int, output: Path) -> Any:
    """Records so many events with viztracer; None where it is not installed."""
    try:
        from viztracer import VizTracer  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return None
    tracer = VizTracer(
        tracer_entries=events + 1000, verbose=0, output_file=os.fspath(output), log_sparse=True
    )
    tracer.start()
    for _ in range(events // _EVENTS_A_TICK + 1):
        with tracer.log_event("train"):
            for name in _SECTIONS:
                with tracer.log_event(name):
                    if name == "learn":
                        with tracer.log_event("backward"):
                            pass
    tracer.stop()
    return tracer


class Cost(NamedTuple):
    """What writing a file took."""

    seconds: float
    cpu_seconds: float
    size: int = 0


def measure_cost(work: Callable[[], Any]) -> tuple[Cost, Any]:
    """What a call takes, and what it returns."""
    begin, cpu = time.perf_counter(), time.process_time()
    result = work()
    return Cost(time.perf_counter() - begin, time.process_time() - cpu), result


def formats() -> list[Output]:
    """Those that show single calls, and need not hold anything else."""
    page = OUTPUTS["html"]
    every = [EXPORTS[name] for name in ("perfetto", "chrome", "speedscope", "otlp")]
    return [*every, page] if page.uses_events else every


def viztracer_saves(events: int) -> Cost | None:
    """What viztracer's file takes; None where it is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "viztracer.json"
        tracer = record_with_viztracer(events, output)
        if tracer is None:
            return None
        cost, _ = measure_cost(tracer.save)
        return cost._replace(size=output.stat().st_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    profile, timeline = record(options.events)
    costs: dict[str, list[Cost]] = {}
    calls = ViewOptions(only="calls")
    for _ in range(options.rounds):
        for form in formats():
            cost, document = measure_cost(partial(form.render, profile, calls, timeline))
            costs.setdefault(form.name, []).append(cost._replace(size=len(document)))
        theirs = viztracer_saves(options.events)
        if theirs is not None:
            costs.setdefault("viztracer's JSON", []).append(theirs)
    load, _, _ = os.getloadavg()
    print(f"{options.events:,} events, median of {options.rounds}; {os.cpu_count()} cores, load {load:.1f}")
    for name, samples in costs.items():
        seconds = statistics.median(cost.seconds for cost in samples)
        cpu = statistics.median(cost.cpu_seconds for cost in samples)
        print(
            f"{name:<18}{seconds:7.2f} s ({cpu:6.2f} s){samples[-1].size / options.events:8.1f} bytes an event"
        )


if __name__ == "__main__":
    main()
