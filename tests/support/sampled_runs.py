"""Run programs under the sampler, and query their samples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from ticktree.analysis.sampled import SampledTime, sampled_times
from ticktree.profile import Profile

# Work of a known kind, for as long as asked: a share is known by the clock, however fast the machine is.
BEFORE = """
import glob, os, sys, threading, time

def work_until(end):
    while time.perf_counter() < end:
        sum(range(200))

def work(seconds):
    work_until(time.perf_counter() + seconds)

# For what a sampler finds only after a while: until it has kept a sample of this function, which no other test has.
def work_until_sampled(name):
    end = time.perf_counter() + 120
    while time.perf_counter() < end:
        work(0.1)
        for path in glob.glob(f"/dev/shm/ticktree-{os.geteuid()}/*/samples.json"):
            try:
                with open(path) as file:
                    if name in file.read(): return
            except OSError:
                pass
"""


def run_sampled(
    folder: Path,
    source: str,
    *options: str,
    status: int = 0,
    before: str = BEFORE,
    refused: Callable[[], None] | None = None,
) -> tuple[Profile, subprocess.CompletedProcess[str]]:
    """Run a program under `ticktree run`; return its profile, and how it ended.

    Args:
        folder: where its script and its run are put.
        source: its source, behind `BEFORE`.
        options: of `ticktree run`.
        status: its exit status.
        before: what it begins with.
        refused: called in ticktree's process before it begins: what the system is not to let it do.
    """
    (folder / "program.py").write_text(before + source)
    command = [sys.executable, "-m", "ticktree", "run", *options, "program.py"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, preexec_fn=refused
    )
    assert done.returncode == status, done.stderr
    run = max(path for path in (folder / "ticktree-runs").iterdir() if path.is_dir())
    return Profile.from_json((run / "profile.json").read_bytes()), done


def functions(time: SampledTime) -> dict[str, float]:
    """The share of each function, by its name."""
    counts: Counter[str] = Counter()
    for row in time.rows():
        counts[row.function] += row.share  # type: ignore[assignment] - shares add up as counts do
    return dict(counts)


def of_root(profile: Profile) -> SampledTime:
    """What was sampled outside all sections."""
    return sampled_times(profile)[""]


def named_in(time: SampledTime) -> set[str]:
    """The names of all functions that any stack has."""
    return {line.function for stack in time.stacks for line in stack.lines}


def share_of(time: SampledTime, names: Iterable[str]) -> float:
    """The share of the stacks in which one of these functions is."""
    function_names = set(names)
    sampled_ns = sum(
        w.ns for stack, w in time.stacks.items() if function_names & {line.function for line in stack.lines}
    )
    return sampled_ns / sum(weight.ns for weight in time.stacks.values())


def state_of(time: SampledTime, name: str) -> str:
    """What a thread does most while this function is in its stack."""
    ns_by_state: Counter[str] = Counter()
    for stack, weight in time.stacks.items():
        if name in {line.function for line in stack.lines}:
            ns_by_state[stack.state] += weight.ns
    return ns_by_state.most_common(1)[0][0]


def samples_so_far(memory: Path) -> int:
    """How many samples a run that goes on has kept."""
    try:
        fields = json.loads((memory / "samples.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return 0
    return sum(row[4] for row in fields["rows"])


def memory_of(run: Path) -> Path:
    """The memory directory of a run."""
    return Path(os.fspath(json.loads((run / "run.json").read_bytes())["memory"]))
