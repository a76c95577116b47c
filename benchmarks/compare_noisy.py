"""How often `ticktree compare` is right on a real program, on this machine as noisy as it is.

`noisy_loop.py` runs in separate processes, in groups of three in random order: twice as it is, once with a section
that truly does 5% more work. A trial takes ten of the groups, as `ticktree bench --pairs 10` would have run them. The
same data go to the peers: a Mann-Whitney test on single calls, and a difference of the means of more than the
threshold.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from compare_power import FALSE_ALARMS, SEED, mann_whitney_says, means_say
from harness.report import Absent, Figure, Report, options, progress
from ticktree.analysis.comparison.compare import compare
from ticktree.profile import Profile

PROGRAM = Path(__file__).with_name("noisy_loop.py")
SECTION = "train/policy"
PAIRS = 10
SIDES = {
    "one": 0.0,
    "other": 0.0,
    "slower": 5.0,
}  # the three of a group, and how much more work each does, in percent

Singles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Run:
    """One process.

    Attributes:
        profile: What it recorded.
        singles: What each call of the section took, in ns.
    """

    profile: Profile
    singles: Singles


Group = dict[str, Run]
Judge = Callable[[Sequence[Run], Sequence[Run]], tuple[bool, bool]]


def run(slower: float, folder: Path) -> Run:
    """One process, and what it left."""
    out = folder / "run.json"
    # One thread: how two of a library's share the cores is no question of this benchmark.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(PROGRAM), "--slower", str(slower), "--out", str(out)]
    subprocess.run(command, env=environment, check=True)
    singles = json.loads(out.with_suffix(".singles.json").read_text())
    return Run(Profile.from_json(out.read_text()), np.array(singles, dtype=np.float64))


def groups(count: int) -> list[Group]:
    """So many groups of three runs, those of each one after another in random order."""
    chance = random.Random(SEED)
    result = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            progress(f"group {number + 1} of {count}")
            sides = list(SIDES)
            chance.shuffle(sides)
            result.append({side: run(SIDES[side], Path(folder)) for side in sides})
    return result


def ticktree_says(base: Sequence[Run], new: Sequence[Run], *, paired: bool) -> tuple[bool, bool]:
    """Whether the section is called slower, and whether anything is that had no more to do."""
    sides = ([run.profile for run in side] for side in (base, new))
    entries = [entry for entry in compare(*sides, paired=paired).entries if entry.kind == "node"]
    alarms = {entry.path for entry in entries if entry.verdict in ("slower", "faster")}
    is_found = any(entry.path == SECTION and entry.verdict == "slower" for entry in entries)
    return is_found, bool(alarms)


def _on_singles(differ: Callable[[list[Singles], list[Singles]], bool]) -> Judge:
    def judge(base: Sequence[Run], new: Sequence[Run]) -> tuple[bool, bool]:
        before, after = [run.singles for run in base], [run.singles for run in new]
        slower = np.concatenate(after).mean() > np.concatenate(before).mean()
        is_different = differ(before, after)
        return bool(is_different and slower), is_different

    return judge


JUDGES: dict[str, Judge] = {
    "ticktree, pairs": lambda base, new: ticktree_says(base, new, paired=True),
    "ticktree, runs": lambda base, new: ticktree_says(base, new, paired=False),
    "Mann-Whitney on calls": _on_singles(mann_whitney_says),
    "means differ by 2%": _on_singles(means_say),
}


def judged(run_groups: Sequence[Group], trials: int) -> list[Figure | Absent]:
    """How often each judge alarms where nothing changed, and finds the slower section where something did."""
    chance = random.Random(SEED)
    alarms, finds = dict.fromkeys(JUDGES, 0), dict.fromkeys(JUDGES, 0)
    for _ in range(trials):
        chosen = chance.sample(run_groups, PAIRS)
        order = [chance.sample(["one", "other"], 2) for _ in chosen]
        base = [group[first] for group, (first, _) in zip(chosen, order, strict=True)]
        same = [group[second] for group, (_, second) in zip(chosen, order, strict=True)]
        slower = [group["slower"] for group in chosen]
        for name, judge in JUDGES.items():
            alarms[name] += judge(base, same)[1]
            finds[name] += judge(base, slower)[0]
    return [
        Figure(
            name,
            100 * alarms[name] / trials,
            "% false alarms",
            repeats=trials,
            target=100 * FALSE_ALARMS if name.startswith("ticktree") else None,
            also={"5% slowdown found %": 100 * finds[name] / trials},
        )
        for name in JUDGES
    ]


def noise_of(run_groups: Sequence[Group]) -> Figure:
    """By how much two runs of the same program, one after another, differ in the section's mean call."""
    ratios = [math.log(group["other"].singles.mean() / group["one"].singles.mean()) for group in run_groups]
    truth = [math.log(group["slower"].singles.mean() / group["one"].singles.mean()) for group in run_groups]
    spread = float(np.sqrt(np.mean(np.square(ratios))))
    return Figure(
        "the same program twice, one after the other",
        100 * spread,
        "% apart",
        repeats=len(run_groups),
        also={"measured slowdown %": 100 * float(np.mean(truth))},
        note=f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
    )


def ceiling_of(run_groups: Sequence[Group]) -> Figure:
    """What ten pairs could find at best amid that noise, were its size known and its shape normal."""
    spread = noise_of(run_groups).value / 100
    effect = math.log(1 + SIDES["slower"] / 100) * math.sqrt(PAIRS) / spread
    best = 0.5 * math.erfc((1.96 - effect) / math.sqrt(2))
    return Figure(
        f"best possible with {PAIRS} pairs amid that noise",
        100 * best,
        "% found",
        note="a test of one question that knows the noise",
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--groups", type=int, help="of three runs each; at least ten (default: 30, quickly 12)"
    )
    arguments = parser.parse_args()
    count = arguments.groups or (12 if arguments.quick else 30)
    if count < PAIRS:
        parser.error(f"--groups: {PAIRS} at least")
    run_groups = groups(count)
    lines = [
        *judged(run_groups, 60 if arguments.quick else 300),
        noise_of(run_groups),
        ceiling_of(run_groups),
    ]
    title = f"How often a comparison of {PAIRS} pairs of short real runs is right, on this machine now"
    Report("compare_noisy", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
