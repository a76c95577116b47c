"""A program's steps with and without recorded libraries, alternately in one process; auto_overhead.py runs it.

The instruments are put in at the program's first step, and it knows nothing of it. Then recording is switched off and
on again every step or few, and the processor time of each turn is counted: of a few milliseconds, so that what the
machine does meanwhile is the same for two that follow each other. Turns of a hundred milliseconds, with instruments
taken out and put in again between them, differed by a fifth where nothing was different.

What is left out is what wrappers cost that find recording switched off: less than a tenth of a microsecond a call
(`overhead.py`). What a program marks itself goes to a separate recorder that is never enabled; what marks cost,
`overhead.py` shows. Not counted are the first steps: the interpreter adapts itself to what it calls, and the first
backward passes at a place are looked at more closely.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import ticktree
from harness.race import settled_heap
from harness.scratch import recording
from ticktree import instruments as instrument
from ticktree.compat.profiling import get_profiler

ROOT = Path(__file__).parents[1]

# What programs mark themselves with.
MARKS = ("section", "timed", "stage", "loop", "tick", "record_duration", "gauge", "wakes", "woken_by")


class Stepping(NamedTuple):
    """How a program steps.

    Attributes:
        file: the program.
        words: its command line.
        step: what it calls once a step, of which of its modules: `module:Class.method`.
        settle: steps before the first that counts.
        steps: of a turn.
        names: how many of them are one step of the program's own.
        main: the module whose `main` it is, where that is not the file's own.
    """

    file: str
    words: tuple[str, ...]
    step: str
    settle: int
    steps: int
    names: int = 1
    main: str = ""


PROGRAM_DIR = "tests/instruments/programs"
PROGRAMS = {
    "tiny": Stepping("benchmarks/tiny_update.py", (), "program:Turn.over", 400, 4),
    "sac": Stepping(f"{PROGRAM_DIR}/sac.py", ("1000000000",), "program:Target.step", 400, 2),
    "ppo": Stepping(
        f"{PROGRAM_DIR}/ppo.py", ("1000000000", "sync"), "program:Corridor.step", 60 * 48, 48, 48
    ),
    "async_envs": Stepping(
        f"{PROGRAM_DIR}/async_envs.py",
        ("1000000000",),
        "gymnasium.vector.async_vector_env:AsyncVectorEnv.step_async",
        *(400, 20),
    ),
    "sb3_ppo": Stepping(
        f"{PROGRAM_DIR}/sb3_ppo.py",
        ("1000000000",),
        "gymnasium.envs.classic_control.cartpole:CartPoleEnv.step",
        *(40 * 128, 128, 128),
    ),
    "visual_sac": Stepping(
        "workloads/visual_sac/train.py",
        ("--fill", "40", "--batch", "16", "--threads", "1", "--updates", "1000000000"),
        "visual_sac.agent:SacAgent.update",
        *(60, 1),
        main="visual_sac.train",
    ),
    "parallel_trainer": Stepping(
        "workloads/parallel_trainer/train.py",
        ("--workers", "1", "--steps", "1000000000"),
        "parallel_trainer.ppo:TorchPPOOptimizer.update",
        *(60, 3),
        main="parallel_trainer.train",
    ),
    "rest_racing": Stepping(
        "workloads/rest_racing/eval.py",
        ("--draw", "last", "--lesson", "4", "--epochs", "1", "--steps", "1000000000"),
        "rest_racing.driver:Driver.step",
        *(60, 2),
    ),
    "rgb_convlstm": Stepping(
        "workloads/rgb_convlstm/train.py",
        (
            *("--convlstm", "--envs", "2", "--rollout-steps", "16", "--batch", "16", "--epochs", "1"),
            *("--timesteps", "1000000000"),
        ),
        "rgb_convlstm.env:RicochetEnv.step",
        *(60 * 32, 32, 32),
        main="rgb_convlstm.train",
    ),
}


class Enough(BaseException):
    """Ends an endless program, which does not catch it."""


class Turns:
    """Counts a program's steps, and switches recording on or off.

    Attributes:
        pairs: processor time of neighbouring turns, in nanoseconds: with, and without.
        steps_recorded: Number of recorded steps.
    """

    def __init__(self, stepping: Stepping, pairs: int) -> None:
        self.pairs: list[tuple[int, int]] = []
        self.steps_recorded = 0
        self._stepping = stepping
        self._pair_count = pairs
        self._took: dict[bool, int] = {}
        self._is_on = True
        self._step_index = -stepping.settle
        self._began = 0

    def step(self) -> None:
        """Counts one."""
        now = time.process_time_ns()
        if self._step_index == -self._stepping.settle:
            instrument.install()
        elif self._step_index > 0 and self._step_index % self._stepping.steps == 0:
            self._turn_over(now)
        if self._step_index >= 0 and self._step_index % self._stepping.steps == 0:
            self._began = time.process_time_ns()
        self._step_index += 1
        self.steps_recorded += self._is_on

    def _turn_over(self, now: int) -> None:
        self._took[self._is_on] = now - self._began
        if len(self._took) == 2:
            self.pairs.append((self._took[True], self._took[False]))
            self._took = {}
            if len(self.pairs) == self._pair_count:
                raise Enough
            return  # what was last is first in the next pair: so each goes first in turn
        self._is_on = not self._is_on
        (ticktree.enable if self._is_on else ticktree.disable)()


def run(stepping: Stepping, turns: Turns) -> None:
    """Run a program's `main` until there were turns enough."""
    file = ROOT / stepping.file
    sys.argv = [str(file), *stepping.words]
    sys.path.insert(0, str(file.parent))
    silence_marks()
    program: Any = importlib.import_module(stepping.main) if stepping.main else load_module(file)
    count_steps(stepping.step, turns.step)
    with settled_heap(), suppress(Enough):
        program.main()


def silence_marks() -> None:
    """Send the program's own marks to a disabled recorder."""
    recorder = ticktree.Recorder()
    for mark in MARKS:
        setattr(ticktree, mark, getattr(recorder, mark))
    get_profiler().disable()


def load_module(file: Path) -> ModuleType:
    """Return a script as the module `program`, none of it run that is only for scripts."""
    spec = importlib.util.spec_from_file_location("program", file)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    sys.modules["program"] = program
    spec.loader.exec_module(program)
    return program


def count_steps(target: str, callback: Callable[[], None]) -> None:
    """Have `counted` called at each call of `module:Class.method`."""
    module, _, path = target.partition(":")
    owner, _, name = path.partition(".")
    kind = getattr(importlib.import_module(module), owner)
    method = getattr(kind, name)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        callback()
        return method(*args, **kwargs)

    setattr(kind, name, wrapper)


def main() -> None:
    stepping, pairs = PROGRAMS[sys.argv[1]], int(sys.argv[2])
    out, sys.stdout = sys.stdout, sys.stderr
    turns = Turns(stepping, pairs)
    with recording():
        run(stepping, turns)
        calls = sum(node.count for _, _, node in ticktree.snapshot().root.walk())
    step_share = stepping.steps / stepping.names
    answer = {
        "with_ns": [with_ns / step_share for with_ns, _ in turns.pairs],
        "without_ns": [without_ns / step_share for _, without_ns in turns.pairs],
        "rows": calls / turns.steps_recorded * stepping.names,
    }
    print(json.dumps(answer), file=out)


if __name__ == "__main__":
    main()
