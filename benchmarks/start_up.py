"""Time that ticktree adds to the start of a process: imported, armed as in children of a run, with known libraries.

    python benchmarks/start_up.py [--rounds 40] [--quick] [--json]

Each line is a process that does one thing and ends; all take turns, in an order shuffled each round,
and what each adds is its processor time less that of `python -c pass` in the same round. Other rows: the profilers
that people start programs with, as far as they are installed, and what many a program imports anyway.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from harness.race import SEED
from harness.report import Absent, Figure, Report, options, progress
from harness.spread import Spread
from ticktree.instruments import BUILT_IN, as_environment
from ticktree.recorder import INSTRUMENT_VARIABLE, PARENT_VARIABLE, RUN_VARIABLE
from ticktree.run.finishing import RunDirectory

EMPTY_PROGRAM = "python -c pass"
# As ticktree.pth does it where ticktree is installed; a second time does nothing.
ARM = "import ticktree.session as session; session.arm()"
# From start to end, the program's process included.
FULL_RUN = """
import os, sys
folder = os.environ["PYTHONPYCACHEPREFIX"]
sys.argv[1:] = ["run", "--quiet", "--no-history", "--out", folder, folder + "/pass.py"]
from ticktree.cli import main
main()
"""


class Start(NamedTuple):
    """What a process does, and which run it is of."""

    program: str
    is_of_a_run: bool = False
    auto: str = ""


def by_default() -> str:
    """What `ticktree run` tells the processes of its run to record automatically."""
    return as_environment(library for library in BUILT_IN if not library.on_demand)


STARTS = {
    EMPTY_PROGRAM: Start("pass"),
    "import ticktree": Start("import ticktree"),
    "ticktree.instrument()": Start("import ticktree; ticktree.instrument()"),
    "a child in a run": Start(ARM, True, by_default()),
    "a child in a run with --no-instrument": Start(ARM, True),
    "ticktree run": Start(FULL_RUN),
}
# The first are profilers, and what they import to begin; the others are what programs import anyway.
PEERS = ("cProfile", "viztracer", "yappi", "opentelemetry.sdk.trace", "asyncio", "numpy")


def environment(start: Start, run: RunDirectory) -> Mapping[str, str]:
    """What a process finds in its environment, as if it were started by a process of the run, or by none."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TICKTREE_")}
    plain.pop("PYTHONDONTWRITEBYTECODE", None)  # else it is the compiler that is measured
    plain["PYTHONPYCACHEPREFIX"] = str(run.path.parent / "bytecode")
    if not start.is_of_a_run:
        return plain
    owner = run.manifest.owner
    parent = f"{owner.pid}-{owner.started}-1:0"
    return plain | {RUN_VARIABLE: str(run.path), PARENT_VARIABLE: parent, INSTRUMENT_VARIABLE: start.auto}


def cpu_ms(program: str, environment: Mapping[str, str]) -> float:
    """Processor time of a process, its system calls included.

    Raises:
        RuntimeError: it did not end well.
    """
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", program], environment)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"{program!r} ended with {status}")
    return (used.ru_utime + used.ru_stime) * 1e3


def measure(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each, one a round."""
    starts = STARTS | {f"import {name}": Start(f"import {name}") for name in PEERS if is_there(name)}
    times: dict[str, list[float]] = {name: [] for name in starts}
    order, shuffler = list(starts), random.Random(SEED)
    with a_run() as run:
        for turn in range(-1, rounds):  # the first compiles what is not compiled yet
            shuffler.shuffle(order)
            for start_name in order:
                took = cpu_ms(starts[start_name].program, environment(starts[start_name], run))
                if turn >= 0:
                    times[start_name].append(took)
    return times


@contextmanager
def a_run() -> Iterator[RunDirectory]:
    """A run that is under way, and of which nothing is left."""
    with tempfile.TemporaryDirectory() as folder:
        run = RunDirectory.create("start-up", Path(folder), supervised=True)
        (run.path.parent / "bytecode").mkdir()
        (run.path.parent / "bytecode" / "pass.py").touch()
        try:
            yield run
        finally:
            run.finish()


def is_there(module: str) -> bool:
    return find_spec(module.partition(".")[0]) is not None


def lines(times: Mapping[str, Sequence[float]]) -> list[Figure | Absent]:
    base = times[EMPTY_PROGRAM]
    figures: list[Figure | Absent] = [Figure.of_spread(EMPTY_PROGRAM, Spread.of(base), "ms in all")]
    for name, values in times.items():
        if name != EMPTY_PROGRAM:
            extra = [value - base_s for value, base_s in zip(values, base, strict=True)]
            ratio = Spread.of([more / base_s for more, base_s in zip(extra, base, strict=True)]).median
            figures.append(
                Figure.of_spread(name, Spread.of(extra), "ms more", also={f"x {EMPTY_PROGRAM}": ratio})
            )
    absent = [Absent(f"import {name}", "not installed") for name in PEERS if not is_there(name)]
    return [*figures, *absent]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="how often each is started")
    arguments = parser.parse_args()
    progress("processes that start and end")
    times = measure(8 if arguments.quick else arguments.rounds)
    title = "Processor time that the start of a process takes more"
    Report("start_up", title, lines(times)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
