"""Cost of recording known libraries in unmodified programs: each runs with and without it, alternately.

In two ways. Within one process (auto_turns.py) the program's own steps are recorded and not recorded in turn: two that
follow each other see the same machine, so that 2% can be detected on a busy one. The figure is the median of the
differences, with its 95% interval, by what a step takes without. And as whole processes, with and without
`ticktree run`: all that it does is in that, and all that the machine does too.

There a run is a separate process, and counted is the processor time of all its processes, ticktree's own supervisor
among them. Starting, importing and writing the run down are left out by running each program for few steps and for
many: what counts is the difference. Two runs that are compared follow each other, and which goes first changes; the
figure is the mean over the pairs with its interval, since what the machine does meanwhile is not the same for both.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.report import Absent, Figure, Report, options, progress
from harness.spread import Spread
from visual_sac_overhead import interval

ROOT = Path(__file__).parents[1]
UNMODIFIED = ROOT / "tests" / "instruments" / "programs"
WORKLOADS = ROOT / "workloads"
TARGET_PERCENT = 2.0
QUICK_SHARE = 4  # a quick look takes that much fewer steps
TICKTREE = (sys.executable, "-m", "ticktree", "run", "--quiet", "--out", "runs")


class Program(NamedTuple):
    """A program to be run.

    Attributes:
        name: what the figure is called.
        needs: what must be installed.
        few: its command line for a few steps; `{}` stands for their number.
        steps: few, and many.
        base: how it runs without what is measured: a program that marks its own sections has them in both.
    """

    name: str
    needs: tuple[str, ...]
    words: tuple[str, ...]
    steps: tuple[int, int]
    base: tuple[str, ...]


class Turning(NamedTuple):
    """A program whose steps take turns within one process.

    Attributes:
        name: what the figure is called.
        key: what auto_turns.py calls it.
        needs: what must be installed.
        pairs: of turns.
        target: whether it is one of those that are to be met.
    """

    name: str
    key: str
    needs: tuple[str, ...]
    pairs: int
    target: bool = True


TURNING = (
    Turning("an update of a tiny network", "tiny", ("torch",), 5000, target=False),
    Turning("a step of SAC in one file", "sac", ("gymnasium", "torch"), 3000),
    Turning("a round of PPO in one file, vector of envs", "ppo", ("gymnasium", "torch"), 1000),
    Turning("a step of eight envs, one process each", "async_envs", ("gymnasium",), 1000),
    Turning("a round of PPO of Stable-Baselines3", "sb3_ppo", ("gymnasium", "stable_baselines3"), 300),
    Turning(
        "an update of parallel_trainer, its learner",
        "parallel_trainer",
        ("gymnasium", "mujoco", "torch"),
        1000,
    ),
    Turning(
        "a step of rest_racing, its driver",
        "rest_racing",
        ("aiohttp", "gymnasium", "pygame", "requests", "torch"),
        300,
    ),
    Turning("an iteration of rgb_convlstm", "rgb_convlstm", ("gymnasium", "sb3_contrib", "torch"), 300),
    Turning("an update of visual_sac", "visual_sac", ("cv2", "gymnasium", "pygame", "torch"), 150),
)
PLAIN = (sys.executable,)
WITHOUT_INSTRUMENTS = (*TICKTREE, "--no-instrument")
PROGRAMS = (
    Program("SAC in one file", ("gymnasium", "torch"), (str(UNMODIFIED / "sac.py"), "{}"), (60, 1060), PLAIN),
    Program(
        "PPO in one file, vector of envs",
        ("gymnasium", "torch"),
        (str(UNMODIFIED / "ppo.py"), "{}", "sync"),
        (2, 102),
        PLAIN,
    ),
    Program(
        "parallel_trainer, in addition to its own sections",
        ("gymnasium", "mujoco", "torch"),
        (str(WORKLOADS / "parallel_trainer" / "train.py"), "--workers", "2", "--steps", "{}"),
        (500, 3500),
        WITHOUT_INSTRUMENTS,
    ),
    Program(
        "visual_sac, in addition to its own sections",
        ("cv2", "gymnasium", "pygame", "torch"),
        (
            str(WORKLOADS / "visual_sac" / "train.py"),
            *("--fill", "40", "--batch", "16", "--threads", "1", "--updates", "{}"),
        ),
        (5, 65),
        WITHOUT_INSTRUMENTS,
    ),
)


def processor_seconds(command: Sequence[str], folder: Path) -> float:
    """What a command and all its processes took.

    Raises:
        RuntimeError: it failed.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TICKTREE")}
    environment["OMP_NUM_THREADS"] = "1"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def many_less_few(start: Sequence[str], program: Program, share: int, folder: Path) -> float:
    """What the steps between few and many took."""
    few, many = program.steps
    step_counts = (few, few + max(1, (many - few) // share))
    seconds = [
        processor_seconds([*start, *(argument.format(steps) for argument in program.words)], folder)
        for steps in step_counts
    ]
    return seconds[1] - seconds[0]


def cost(program: Program, pairs: int, share: int, folder: Path) -> Figure | Absent:
    """How much more processor time its steps take when known libraries are recorded."""
    missing = [name for name in program.needs if importlib.util.find_spec(name) is None]
    if missing:
        return Absent(program.name, f"not installed: {', '.join(missing)}")
    more_s, base_s = [], []
    for number in range(pairs):
        progress(f"{program.name}: pair {number + 1} of {pairs}")
        taken = {}
        for start in (program.base, TICKTREE) if number % 2 == 0 else (TICKTREE, program.base):
            taken[start] = many_less_few(start, program, share, folder)
        more_s.append(taken[TICKTREE] - taken[program.base])
        base_s.append(taken[program.base])
    usual_s = sum(base_s) / pairs
    more, low, high = (100.0 * seconds / usual_s for seconds in interval(more_s))
    return Figure(
        program.name,
        more,
        "% more processor time",
        repeats=pairs,
        also={"95% from": low, "to": high, "s without": usual_s},
        note=certainty(low, high),
    )


def turns(turning: Turning, share: int, folder: Path) -> Figure | Absent:
    """How much more processor time a step takes than without, measured by turns within one process."""
    missing = [name for name in turning.needs if importlib.util.find_spec(name) is None]
    if missing:
        return Absent(turning.name, f"not installed: {', '.join(missing)}")
    progress(turning.name)
    script = Path(__file__).with_name("auto_turns.py")
    command = [sys.executable, str(script), turning.key, str(max(8, turning.pairs // share))]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TICKTREE")}
    environment["OMP_NUM_THREADS"] = "1"
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    answer = json.loads(done.stdout)
    without_ns = Spread.of(answer["without_ns"]).median
    pairs = zip(answer["with_ns"], answer["without_ns"], strict=True)
    more_ns = Spread.of([with_ns - without_ns for with_ns, without_ns in pairs])
    more, low, high = (
        100.0 * ns / without_ns for ns in (more_ns.median, more_ns.sure_low, more_ns.sure_high)
    )
    return Figure(
        turning.name,
        more,
        "% more processor time",
        repeats=more_ns.repeats,
        also={
            "95% from": low,
            "to": high,
            "us without": without_ns / 1e3,
            "rows": answer["rows"],
            "us a row": more_ns.median / 1e3 / answer["rows"],
        },
        note=certainty(low, high) if turning.target else "the worst case: no target",
    )


def certainty(low: float, high: float) -> str:
    """The verdict of the interval, not of its middle, on the target."""
    if high <= TARGET_PERCENT:
        return "target met"
    return "target missed" if low > TARGET_PERCENT else "cannot tell: the machine is too restless"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, help="pairs of runs (default: 8, quick: 3)")
    parser.add_argument("--turns", action="store_true", help="only the turns within one process")
    parser.add_argument("--only", metavar="WORD", default="", help="programs whose names have this in them")
    arguments = parser.parse_args()
    pairs = arguments.pairs or (3 if arguments.quick else 8)
    if pairs < 2:
        parser.error("one pair of runs gives no interval")
    share = QUICK_SHARE if arguments.quick else 1
    title = f"Known libraries recorded without an edit, target {TARGET_PERCENT:g}%, {pairs} pairs of runs"
    with tempfile.TemporaryDirectory() as folder:
        lines = [turns(entry, share, Path(folder)) for entry in TURNING if arguments.only in entry.name]
        if not arguments.turns:
            lines += [
                cost(program, pairs, share, Path(folder))
                for program in PROGRAMS
                if arguments.only in program.name
            ]
    Report("auto_overhead", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
