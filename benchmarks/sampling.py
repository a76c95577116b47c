"""How accurate sampled shares are, compared with py-spy, pyinstrument and profiling.sampling, and what sampling costs.

Six programs measure by the clock how they split their time between two functions (`peers/known_splits.py`). Each
sampler says how it is split; the error is the largest difference between the two, in points.

The cost is how much more processor time a round of a program takes in a second in which it is sampled 100 times, than
in the seconds before and after.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harness.report import Absent, Figure, Report, progress
from harness.spread import Spread
from ticktree.profile import Profile
from ticktree.supervisor.sampler._remote import NativeSampler
from ticktree.supervisor.sampler.sampling import find_addresses

SPLITS = Path(__file__).parent / "peers" / "known_splits.py"
PROGRAMS = ("python", "numpy", "sleeps", "locks", "gil", "recursion")
HZ = 100
POINTS = 3.0
COST_PERCENT = 0.5
# Programs whose cost is measured: what it is called, and what they need.
COSTS = {
    "python": ("cost: pure Python", ()),
    "control": ("cost: a control loop at 1 kHz", ()),
    "ppo": ("cost: PPO that marks nothing", ("torch", "gymnasium")),
}
_BLOCK_S = 1.0
_SETTLING_ROUNDS = 20
_NEVER_S = 1e6

Shares = Mapping[str, float]


class Result(NamedTuple):
    """What a sampler found of a program.

    Attributes:
        truth: the split that the program has measured itself.
        round_ns: processor time of a round of it, on its main thread.
        weights: how much of it each function was sampled in.
        failed: the share of its samples that it could not take, in percent; None where it is unknown.
    """

    truth: Shares
    round_ns: float
    weights: Counter[str]
    failed: float | None = None


def shares(counts: Mapping[str, float], functions: Shares) -> dict[str, float]:
    """The share of each function in the samples."""
    total = sum(counts.get(name, 0.0) for name in functions) or 1.0
    return {name: counts.get(name, 0.0) / total for name in functions}


def by_ticktree(name: str, seconds: float, folder: Path) -> Result:
    command = [sys.executable, "-m", "ticktree", "run", "--quiet", "--sample", str(HZ), "--no-instrument"]
    truth, round_ns, _ = run([*command, str(SPLITS), name, str(seconds)], folder)
    run_folder = max(path for path in (folder / "ticktree-runs").iterdir() if path.is_dir())
    samples = Profile.from_json((run_folder / "profile.json").read_bytes()).samples
    weights: Counter[str] = Counter()
    for stack, weight in samples.stacks.items() if samples else ():
        if not stack.thread:
            weights.update(dict.fromkeys({line.function for line in stack.lines}, weight.ns))
    dropped, sample_count = (sum(samples.dropped.values()), samples.count) if samples else (0, 1)
    return Result(truth, round_ns, weights, 100 * dropped / (dropped + sample_count))


def by_py_spy(name: str, seconds: float, folder: Path) -> Result:
    raw = folder / "py-spy.txt"
    options = ["--rate", str(HZ), "--format", "raw", "--idle", "--output", str(raw), "--function"]
    command = ["py-spy", "record", *options, "--", sys.executable, str(SPLITS), name, str(seconds)]
    truth, round_ns, output = run(command, folder)
    weights: Counter[str] = Counter()
    for line in raw.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        functions = {frame.partition(" ")[0] for frame in stack.split(";")}
        if "main" in functions:  # of the main thread
            weights.update(dict.fromkeys(functions, int(count)))
    counts = re.search(r"Samples: (\d+) Errors: (\d+)", output)
    sample_count, failed = map(int, counts.groups()) if counts else (1, 0)
    return Result(truth, round_ns, weights, 100 * failed / (sample_count + failed))


def by_pyinstrument(name: str, seconds: float, folder: Path) -> Result:
    out = folder / "pyinstrument.json"
    options = ["--interval", str(1 / HZ), "--renderer", "json", "--outfile", str(out)]
    truth, round_ns, _ = run(
        [sys.executable, "-m", "pyinstrument", *options, str(SPLITS), name, str(seconds)], folder
    )
    weights: Counter[str] = Counter()

    def walk(frame: dict[str, Any], above: frozenset[str]) -> None:
        function = str(frame["function"])
        if function not in above:
            weights[function] += round(1e9 * frame["time"])
        for child in frame.get("children", []):
            walk(child, above | {function})

    walk(json.loads(out.read_text())["root_frame"], frozenset())
    return Result(truth, round_ns, weights)


def by_profiling_sampling(name: str, seconds: float, folder: Path) -> Result:
    out = folder / "stacks.txt"
    out.unlink(missing_ok=True)
    options = ["--sampling-rate", str(HZ), "--collapsed", "--output", str(out)]
    command = [sys.executable, "-m", "profiling.sampling", "run", *options]
    truth, round_ns, output = run([*command, str(SPLITS), name, str(seconds)], folder)
    weights: Counter[str] = Counter()
    for line in out.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        functions = {frame.split(":")[-2] for frame in stack.split(";") if frame.count(":") > 1}
        weights.update(dict.fromkeys(functions, int(count)))
    error_rate = re.search(r"Error rate: ([\d.]+)", output)
    return Result(truth, round_ns, weights, float(error_rate[1]) if error_rate else 0.0)


def run(command: list[str], folder: Path) -> tuple[Shares, float, str]:
    """Run a program: the split and the cost of a round that it has measured itself, and all that was printed."""
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    result = json.loads(lines[-1])
    return result["shares"], result["ns_per_round"], done.stdout + done.stderr


Sampler = Callable[[str, float, Path], Result]
SAMPLERS: dict[str, tuple[Sampler, str]] = {
    "ticktree": (by_ticktree, ""),
    "py-spy": (by_py_spy, "" if shutil.which("py-spy") else "py-spy is not installed"),
    "pyinstrument": (
        by_pyinstrument,
        "" if importlib.util.find_spec("pyinstrument") else "pyinstrument is not installed",
    ),
    "profiling.sampling": (
        by_profiling_sampling,
        "" if sys.version_info >= (3, 15) else "it comes with Python 3.15",
    ),
}


def measured(name: str, program: str, seconds: float, repeats: int, folder: Path) -> Figure | Absent:
    sampler, missing = SAMPLERS[name]
    title = f"{program}: {name}"
    if missing:
        return Absent(title, missing)
    errors, failure_rates, cost = [], [], []
    for _ in range(repeats):
        try:
            _, alone_ns, _ = run([sys.executable, str(SPLITS), program, str(min(seconds, 2))], folder)
            result = sampler(program, seconds, folder)
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            return Absent(title, f"failed: {error}")
        shares_by_name = shares(result.weights, result.truth)
        errors.append(
            100 * max(abs(shares_by_name[function] - result.truth[function]) for function in result.truth)
        )
        cost.append(100 * (result.round_ns / alone_ns - 1))
        failure_rates += [] if result.failed is None else [result.failed]
    errors.sort()
    also = {"% slower": statistics.median(cost)} | ({"% failed": max(failure_rates)} if failure_rates else {})
    target = POINTS if name == "ticktree" else None
    return Figure(title, statistics.median(errors), "points", errors[0], errors[-1], repeats, target, also)


def cost(name: str, blocks: int, folder: Path) -> Figure | Absent:
    """How much more processor time a program's rounds take while it is sampled, in pairs of blocks within one run."""
    title, needs = COSTS[name]
    if not all(map(importlib.util.find_spec, needs)):
        return Absent(title, f"{' or '.join(needs)} is not installed")
    counter = folder / "rounds"
    counter.write_bytes(bytes(16))
    command = [sys.executable, str(SPLITS), "count", name, str(counter)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as program:
        try:
            while _rounds(counter)[0] < _SETTLING_ROUNDS:
                time.sleep(_BLOCK_S)
            sampler = NativeSampler(_NEVER_S, 0.01, 1)
            sampler.add(program.pid, b"", *find_addresses(program.pid))
            sampler.start()
            took = []
            for block in range(2 * blocks + 1):
                sampler.set_interval(1 / HZ if block % 2 else _NEVER_S)
                took.append(_took(counter))
                sampler.take()
            sampler.stop()
        finally:
            program.kill()
    more = [
        100 * (2 * took[index] / (took[index - 1] + took[index + 1]) - 1)
        for index in range(1, len(took) - 1, 2)
    ]
    spread = Spread.of(more)
    sure = {"from %": spread.sure_low, "to %": spread.sure_high}
    is_clear = spread.sure_high <= COST_PERCENT or spread.sure_low > COST_PERCENT
    note = f"{statistics.median(took) / 1e6:.3g} ms a round" + ("" if is_clear else "; cannot tell")
    target = COST_PERCENT if is_clear else None
    return Figure.of_spread(title, spread, "% more", target=target, also=sure, note=note)


def _took(counter: Path) -> float:
    """Nanoseconds of the processor that a round of the next block takes."""
    rounds, ns = _rounds(counter)
    time.sleep(_BLOCK_S)
    while _rounds(counter)[0] == rounds:
        time.sleep(0.01)
    later, later_ns = _rounds(counter)
    return (later_ns - ns) / (later - rounds)


def _rounds(counter: Path) -> tuple[int, int]:
    """The rounds until now, and the processor's nanoseconds at the end of the last, both of one moment."""
    while True:
        before, after = (counter.read_bytes() for _ in range(2))
        if before == after:
            return int.from_bytes(before[:8], "little"), int.from_bytes(before[8:], "little")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each program; 20 are 2,000 samples")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="of these; none for the cost alone")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=60, help="pairs of seconds with and without samples")
    parser.add_argument("--costs", default=",".join(COSTS), help="of these; none for the shares alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    lines: list[Figure | Absent] = []
    with tempfile.TemporaryDirectory() as folder:
        for program in options.programs.split(",") if options.programs else ():
            for name in SAMPLERS:
                progress(f"{program}, {name}")
                lines.append(measured(name, program, options.seconds, options.repeats, Path(folder)))
        for program in options.costs.split(",") if options.costs else ():
            progress(f"cost, {program}")
            lines.append(cost(program, options.blocks, Path(folder)))
    Report("sampling", "Largest error of a sampled share, and the cost of being sampled", lines).print(
        as_json=options.json
    )


if __name__ == "__main__":
    main()
