"""Jobs of torch.distributed whose runs are gathered while they go on: each rank as on a machine of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from ticktree.fleet.gatherer_process import GathererProcess
from ticktree.fleet.store import note_rank
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.job import gathered_profiles, is_partial

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.distributed.is_available(), reason="torch is built without distributed"),
    pytest.mark.timeout(900),
]

SECONDS = 400
RANKS = 4
BEGIN = """
import json, os, pathlib, signal, sys, time
import torch, torch.distributed as dist
import ticktree
torch.set_num_threads(1)
rank = int(os.environ["RANK"])
dist.init_process_group("gloo")

def is_gathered(of, ticks):
    for path in pathlib.Path("ticktree-runs").glob("*-host0/job/so-far.json"):
        runs = json.loads(path.read_text()).values()
        return any(run["ranks"] == [of] and run["ticks"] >= ticks for run in runs)
    return False
"""
# Rank 2 is slow, and is killed when rank 0's run has a dozen of its ticks, and it has made five more.
KILLED = """
left = 5
for tick in ticktree.loop("train"):
    if rank == 2:
        left -= is_gathered(2, 12)
        if left < 0:
            pathlib.Path("made").write_text(str(tick))
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.2)
    try:
        dist.all_reduce(torch.ones(1))
    except RuntimeError:
        break
dist.destroy_process_group()
"""
# What a rank does is its own affair; only at the beginning and at the end they meet.
UNEVEN = """
class Own(Exception):
    pass

try:
    if rank == 0:
        for _ in ticktree.loop("train", range(30)):
            time.sleep(0.05)
    elif rank == 1:
        for _ in ticktree.loop("train"):
            time.sleep(0.05)
            if is_gathered(1, 3):
                break
    elif rank == 2:
        for tick in ticktree.loop("train", range(100)):
            time.sleep(0.05)
            if tick > 20:
                raise Own
    # rank 3 has no ticks
except Own:
    pass
dist.barrier()
dist.destroy_process_group()
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def ended(folder, program, every, within_s):
    """How each rank's `ticktree run` has ended: each with a memory directory of its own, as on its own machine."""
    (folder / "job.py").write_text(BEGIN + program)
    port = free_port()
    started = []
    for rank in range(RANKS):
        (folder / f"memory-{rank}").mkdir()
        job = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        own = {"TICKTREE_MEMORY_DIR": str(folder / f"memory-{rank}"), "TICKTREE_GATHER_WITHIN": str(within_s)}
        command = [sys.executable, "-m", "ticktree", "run", "--gather-every", str(every)]
        command += ["--name", f"host{rank}", "job.py"]
        with (folder / f"errors-{rank}").open("wb") as errors:
            environment = {**os.environ, **job, **own}
            started.append(subprocess.Popen(command, cwd=folder, env=environment, stderr=errors))
    return [process.wait(SECONDS) for process in started]


def run_of(folder, rank):
    (path,) = folder.glob(f"ticktree-runs/*-host{rank}")
    return RunDirectory.open(path)


def test_of_a_rank_that_is_killed_rank_0_has_what_was_gathered_and_who_waited_for_it(tmp_path):
    assert ended(tmp_path, KILLED, every=5, within_s=20) == [0, 0, -signal.SIGKILL, 0]
    first = run_of(tmp_path, 0)
    said = (tmp_path / "errors-0").read_text()
    merge = [sys.executable, "-m", "ticktree", "merge", str(first.path), "-o", "job.json"]
    done = subprocess.run(merge, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    profile = Profile.from_json((tmp_path / "job.json").read_text())
    profile.check()
    made = {thread.process_name: key for key, thread in profile.threads.items()}
    assert set(made) >= {f"rank {rank}" for rank in range(RANKS)}
    ticks = profile.root.at("train").by_thread[made["rank 2"]].count
    # What it did since is not there: it slept in each of five ticks, and is still in its own run.
    assert 12 <= ticks <= int((tmp_path / "made").read_text())
    own = run_of(tmp_path, 2).profile()
    assert own.root.at("train").count >= ticks
    assert profile.losses["runs_gathered_in_part"] == 1
    assert profile.losses.get("runs_not_gathered", 0) == 0
    for words in (said, done.stderr):
        (line,) = [line for line in words.splitlines() if "rank 2 on " in line]
        assert "up to tick " in line
    # Whether that is enough for a finding depends on how many ticks the others made since the last gathering.
    waits = {
        key: share.total_ns / share.count
        for key, share in profile.root.at("train/all_reduce").by_thread.items()
    }
    slow = waits.pop(made["rank 2"])
    assert slow < min(waits.values()) / 2
    (told,) = first.profile().metadata["gathered"]
    assert "rank 1 on " in told
    assert told.count("at its end") == 2
    assert not list(tmp_path.glob("memory-*/ticktree-*/*"))


def test_ranks_with_different_numbers_of_ticks_and_none_end_as_they_would(tmp_path):
    assert ended(tmp_path, UNEVEN, every=3, within_s=120) == [0, 0, 0, 0]
    copies = gathered_profiles(run_of(tmp_path, 0).path)
    assert len(copies) == RANKS - 1
    assert not any(map(is_partial, copies))
    (told,) = run_of(tmp_path, 0).profile().metadata["gathered"]
    # Those that were on their way by then; rank 1 has waited for it.
    assert "rank 1 on " in told
    assert "up to" not in told


def test_a_gatherer_whose_store_says_nothing_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path))
    run = RunDirectory.create("job", tmp_path / "runs")
    process = GathererProcess(1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(SECONDS)
        note_rank(run, 1, 2, *silent.getsockname())
        process.begin(run)
        silent.accept()  # it has imported torch, and asks
        begin = time.monotonic()
        process.end()
        assert time.monotonic() - begin < 30
    run.finish()
    assert not (run.path / "job").exists()
