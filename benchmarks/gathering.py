"""Cost of `ticktree run --gather-every`: the ticks of a job's ranks with and without it, and its gatherers.

    python benchmarks/gathering.py [--pairs 6] [--ticks 10000] [--every 100] [--quick]

Two ranks of torch.distributed (gloo, on this machine), each with its own run as on two machines, multiply
matrices and meet at every tick. With and without are run in turns. A gatherer is a process next to the ranks: its
processor time and its memory are looked at from outside; shared pages count in proportion.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PROGRAM = """
import sys
import torch, torch.distributed as dist
import ticktree
torch.set_num_threads(1)
dist.init_process_group("gloo")
values = torch.randn(200, 200)
for _ in ticktree.loop("train", range(int(sys.argv[1]))):
    for _ in range(4):
        values @ values
    dist.all_reduce(torch.ones(1000))
dist.destroy_process_group()
"""
LOOK_EVERY_S = 0.2
GATHERER = "ticktree.fleet.gatherer_process"


@dataclass
class Gatherer:
    """What one gatherer has used.

    Attributes:
        begun_s: Seconds of processor time until something had come; most of it is importing torch.
        used_s: In all.
        begun_at_s: When that was, on the wall.
        ended_at_s: When it was last found running.
        peak_bytes: Of memory.
    """

    begun_s: float = 0.0
    used_s: float = 0.0
    begun_at_s: float = 0.0
    ended_at_s: float = 0.0
    peak_bytes: int = 0

    @property
    def share(self) -> float:
        """How much of a core it used once it had begun."""
        return (self.used_s - self.begun_s) / max(self.ended_at_s - self.begun_at_s, LOOK_EVERY_S)


def job(folder: Path, ticks: int, every: int) -> tuple[list[float], list[Gatherer]]:
    """Run the job once, and return the median tick of each rank in ns and what the gatherers used."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    (folder / "job.py").write_text(PROGRAM)
    runs = []
    for rank in range(2):
        (folder / f"memory-{rank}").mkdir()
        variables = {
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        environment = {**os.environ, **variables, "TICKTREE_MEMORY_DIR": str(folder / f"memory-{rank}")}
        command = [sys.executable, "-m", "ticktree", "run", "--quiet", "--no-history"]
        command += ["--gather-every", str(every), "--name", f"rank{rank}", "job.py", str(ticks)]
        runs.append(subprocess.Popen(command, cwd=folder, env=environment))
    gatherers = watched(folder, runs)
    if any(run.wait() for run in runs):
        sys.exit("the job failed")
    profiles = [json.loads(path.read_text()) for path in folder.glob("ticktree-runs/*/profile.json")]
    return [profile["loops"][0]["p50_ns"] for profile in profiles], gatherers


def watched(folder: Path, runs: list[subprocess.Popen[bytes]]) -> list[Gatherer]:
    """Look at the gatherers of some runs until the first of these has ended."""
    gatherers: dict[psutil.Process, Gatherer] = {}
    has_come = False
    while all(run.poll() is None for run in runs):
        time.sleep(LOOK_EVERY_S)
        # Deleted when what is whole comes.
        has_come = has_come or any(folder.glob("ticktree-runs/*/job/*.so-far.json.gz"))
        for run in runs:
            with suppress(psutil.Error):
                for child in psutil.Process(run.pid).children():
                    if GATHERER in child.cmdline():
                        look(child, gatherers.setdefault(child, Gatherer()), has_come)
    return list(gatherers.values())


def look(process: psutil.Process, gatherer: Gatherer, has_come: bool) -> None:
    """Note what a gatherer has used by now."""
    times = process.cpu_times()
    gatherer.used_s, gatherer.ended_at_s = times.user + times.system, time.monotonic()
    gatherer.peak_bytes = max(gatherer.peak_bytes, process.memory_full_info().pss)
    if not has_come or not gatherer.begun_s:
        gatherer.begun_s, gatherer.begun_at_s = gatherer.used_s, gatherer.ended_at_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--ticks", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="one pair")
    options = parser.parse_args()
    ratios, gatherers = [], []
    for _ in range(1 if options.quick else options.pairs):
        ticks = []
        for every in (0, options.every):
            with tempfile.TemporaryDirectory(
                dir="/dev/shm" if Path("/dev/shm").is_dir() else None
            ) as scratch:
                medians, used = job(Path(scratch), options.ticks, every)
                ticks.append(statistics.fmean(medians))
                gatherers += used
        ratios.append(ticks[1] / ticks[0])
        print(f"median tick {ticks[0] / 1e6:.3f} ms without, {ticks[1] / 1e6:.3f} ms with: {ratios[-1]:.3f}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"with to without: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    if gatherers:
        begun_s, share, peak = (
            statistics.median(values)
            for values in zip(
                *((gatherer.begun_s, gatherer.share, gatherer.peak_bytes) for gatherer in gatherers),
                strict=True,
            )
        )
        print(f"a gatherer: {begun_s:.1f} s of a core to begin, then {share:.1%} of one; {peak / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
