"""Cost of whole-program profilers for the control step of `step.py`, compared with five sections in it.

All in one process, in turn with the bare step, so that a busy machine slows both alike. Samplers that look from
outside (py-spy, `profiling.sampling`, ticktree's own) are no part of it: they cost the program the time it is stopped.
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

import ticktree
from arm import Arm
from harness.race import Block, settled_heap, stopwatch
from harness.report import Absent, Figure, Report, options, progress
from harness.scratch import recording
from harness.spread import Spread
from step import bare_steps, profiled_steps

FIVE_SECTIONS = "ticktree, five sections"
STEPS = 60

Session = Callable[[], AbstractContextManager[None]]


@contextmanager
def by_cprofile() -> Iterator[None]:
    with cProfile.Profile():
        yield


@contextmanager
def by_pyinstrument() -> Iterator[None]:
    from pyinstrument import Profiler

    with Profiler():
        yield


@contextmanager
def by_viztracer() -> Iterator[None]:
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0)
    tracer.start()
    yield
    tracer.stop()
    tracer.clear()


@contextmanager
def by_torch() -> Iterator[None]:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]):
        yield


SESSIONS: Mapping[str, Session] = {
    "cProfile": by_cprofile,
    "pyinstrument": by_pyinstrument,
    "viztracer": by_viztracer,
    "torch.profiler, five record_function": by_torch,
}


def available() -> Iterator[tuple[str, Session | Absent]]:
    for name, session in SESSIONS.items():
        try:
            with session():
                pass
        except ImportError as error:
            yield name, Absent(name, str(error))
        else:
            yield name, session


def measure(sessions: Mapping[str, Session], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """By profiler, nanoseconds per step under it and of the bare step right after, once a round.

    What it takes to start and to stop a profiler is left out.
    """
    arm = Arm()
    blocks: dict[str, tuple[Session, Block]] = {
        FIVE_SECTIONS: (nullcontext, profiled_steps(arm, ticktree.section))
    }
    for name, session in sessions.items():
        steps = bare_steps(arm)
        if name.startswith("torch"):
            from torch.profiler import record_function

            steps = profiled_steps(arm, record_function)
        blocks[name] = session, steps
    bare = bare_steps(arm)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in blocks}
    with settled_heap():
        for _ in range(rounds):
            for name, (session, steps) in blocks.items():
                with session():
                    steps(STEPS // 4)
                    under_ns = stopwatch(steps, STEPS) / STEPS
                bare(STEPS // 4)
                times[name].append((under_ns, stopwatch(bare, STEPS) / STEPS))
    return times


def main() -> None:
    arguments = options(__doc__).parse_args()
    times = dict(available())
    sessions = {name: session for name, session in times.items() if not isinstance(session, Absent)}
    with recording():
        progress("stepping under profilers")
        results = measure(sessions, 20 if arguments.quick else 200)
    lines: list[Figure | Absent] = []
    for name, pairs in results.items():
        ratio = Spread.of([profiled / bare for profiled, bare in pairs])
        bare_us = Spread.of([bare for _, bare in pairs]).median / 1e3
        also = {"bare us": bare_us, "95% from": ratio.sure_low, "to": ratio.sure_high}
        lines.append(Figure.of_spread(name, ratio, "x", also=also))
    lines += [session for session in times.values() if isinstance(session, Absent)]
    title = "A control step under profilers, in units of the bare step"
    Report("profilers", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
