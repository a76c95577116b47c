"""What ticktree adds to the start of a process: imported, armed as the children of a run are, with known libraries.

    python benchmarks/start_up.py [--rounds 40] [--quick] [--json]

Each line is a process of its own that does this one thing and ends; all take turns, in an order shuffled each round,
and what each adds is its processor time less that of `python -c pass` in the same round. Beside it stand the profilers
that people start programs with, as far as they are installed, and what many a program imports anyway.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from harness.race import SEED
from harness.report import Absent, Figure, Report, options, progress
from harness.spread import Spread
from ticktree.instrument import BUILT_IN, as_environment
from ticktree.recorder import AUTO_VARIABLE, RUN_VARIABLE
from ticktree.run.directory import RunDirectory

NOTHING = "python -c pass"
# As ticktree.pth does it where ticktree is installed; a second time does nothing.
ARM = "import ticktree.session as session; session.arm()"

# What is measured, by its name: the program, and whether it is a process of a run.
PROGRAMS: dict[str, tuple[str, bool]] = {
    NOTHING: ("pass", False),
    "import ticktree": ("import ticktree", False),
    "import ticktree; ticktree.instrument.install()": ("import ticktree; ticktree.instrument.install()", False),
    "a child of a run": (ARM, True),
    "a child of a run, nothing recorded by itself": (f"import os; os.environ.pop({AUTO_VARIABLE!r}, 0); {ARM}", True),
}
# Module by module, what others' start costs: the first are profilers.
PEERS = ("cProfile", "viztracer", "yappi", "scalene.scalene_profiler", "opentelemetry.sdk.trace", "asyncio", "numpy")


def environments(folder: Path) -> dict[bool, Mapping[str, str]]:
    """The environment of a process outside any run, and of one in a run that is under way."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TICKTREE_")}
    run = RunDirectory.create("start-up", folder)
    by_default = as_environment(library for library in BUILT_IN if not library.on_demand)
    return {False: plain, True: plain | {RUN_VARIABLE: str(run.path), AUTO_VARIABLE: by_default}}


def cpu_ms(program: str, environment: Mapping[str, str], folder: Path) -> float:
    """Processor time of a process, its system calls included.

    Raises:
        RuntimeError: it did not end well.
    """
    arguments = [sys.executable, "-c", f"import os; os.chdir({str(folder)!r}); {program}"]
    pid = os.posix_spawn(sys.executable, arguments, environment)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"{program!r} ended with {status}")
    return (used.ru_utime + used.ru_stime) * 1e3


def measure(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each, one a round."""
    programs = dict(PROGRAMS)
    programs |= {f"import {name}": (f"import {name}", False) for name in PEERS if is_there(name)}
    found: dict[str, list[float]] = {name: [] for name in programs}
    shuffler = random.Random(SEED)
    order = list(programs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = environments(folder)
        for turn in range(-1, rounds):  # the first compiles what is not compiled yet
            shuffler.shuffle(order)
            for each in order:
                program, in_a_run = programs[each]
                took = cpu_ms(program, environment[in_a_run], folder)
                if turn >= 0:
                    found[each].append(took)
    return found


def is_there(module: str) -> bool:
    return find_spec(module.partition(".")[0]) is not None


def lines(found: Mapping[str, Sequence[float]]) -> list[Figure | Absent]:
    nothing = found[NOTHING]
    figures: list[Figure | Absent] = [Figure.of_spread(NOTHING, Spread.of(nothing), "ms in all")]
    for name, values in found.items():
        if name != NOTHING:
            added = [value - least for value, least in zip(values, nothing, strict=True)]
            figures.append(Figure.of_spread(name, Spread.of(added), "ms more"))
    absent = [Absent(f"import {name}", "not installed") for name in PEERS if not is_there(name)]
    return [*figures, *absent]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="how often each is started")
    arguments = parser.parse_args()
    progress("processes that start and end")
    found = measure(8 if arguments.quick else arguments.rounds)
    title = "Processor time that the start of a process takes more"
    Report("start_up", title, lines(found)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
