from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.example_samples import sampled_store
from support.example_trainers import LEARNER, MS, S, node, thread
from support.example_workers import ids, run_of_workers, stepping
from support.findings import findings
from support.sampled_runs import run_sampled
from ticktree.analysis.rules.locks import LockConvoyRule
from ticktree.analysis.rules.workers import IdleWorkerRule
from ticktree.profile import CodeLine, Profile, Waker, Wakes
from ticktree.run.finishing import RunDirectory

PROGRAM = """
import multiprocessing, sys, time

def work(lock, inside, outside):
    for _ in range(30):
        with lock:
            time.sleep(inside)
        time.sleep(outside)

if __name__ == "__main__":
    lock = multiprocessing.Lock()
    times = float(sys.argv[1]), float(sys.argv[2])
    workers = [multiprocessing.Process(target=work, args=(lock, *times)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
"""


def queueing(waits_ms, channel="lock", count=4, peers=None, calls=100) -> Profile:
    """Workers that wait so long for a lock in each of their 10 ms, and for whom."""
    workers = ids(count)
    wakers = {
        Waker(channel, worker, other, "step"): Wakes(calls // count, round(ms * MS * calls / (count - 1)), 0)
        for worker, ms in zip(workers, waits_ms, strict=True)
        for other in (peers or workers)
        if other != worker
    }
    wait = node(
        "acquire",
        {worker: [round(ms * MS)] * calls for worker, ms in zip(workers, waits_ms, strict=True)},
        concurrent=True,
        wait=True,
        wakers=wakers,
    )
    others = [thread(LEARNER, "learner", last_ns=S)]
    return run_of_workers(
        stepping([10 - ms for ms in waits_ms], calls=calls), wait, count=count, others=others, run_ns=S
    )


def findings_of(profile: Profile):
    return findings(profile, rules=[LockConvoyRule()])


def test_workers_that_do_little_outside_a_lock_queue_for_it():
    (finding,) = findings_of(queueing([7.4] * 4))
    assert finding.message == (
        "Do less while the lock of acquire is held, or give each worker its own lock: of 4 × env worker, 3.0 "
        "wait for it at any moment, 100% of that until one of them lets it go"
    )
    assert (finding.path, finding.severity, finding.saving) == ("acquire", "critical", None)
    assert findings(queueing([7.4] * 4), rules=[IdleWorkerRule()]) == []


@pytest.mark.parametrize(
    "profile",
    [
        queueing([4] * 4),  # they do more outside it than inside
        queueing([7.4] * 4, channel="pipe"),  # messages
        queueing([7.4] * 4, peers=[LEARNER]),  # another's lock: idle-worker names it
        queueing([7.4] * 4, peers=ids(4)[:2]),  # two locks
        queueing([6] * 2, count=2),
        queueing([7.4] * 4, calls=8),  # chance
    ],
    ids=["outside", "messages", "another's", "two locks", "two workers", "few"],
)
def test_waits_that_are_no_queue_for_one_lock_are_not_reported(profile):
    assert findings_of(profile) == []


@pytest.mark.parametrize(("inside", "outside", "rules"), [(0.005, 0.0, ["lock-convoy"]), (0.001, 0.03, [])])
def test_processes_that_share_a_lock(tmp_path, inside, outside, rules):
    """What they do is to sleep, so that it takes as long on any machine."""
    (tmp_path / "program.py").write_text(PROGRAM)
    memory = tmp_path / "memory"
    memory.mkdir()
    command = [sys.executable, "-m", "ticktree", "run", "--quiet", "program.py", str(inside), str(outside)]
    environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(memory)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=400)
    profile = RunDirectory.newest(tmp_path / "ticktree-runs").profile()
    assert [finding.rule for finding in findings_of(profile)] == rules


LOCK = CodeLine("store", "train.py", 7)
ELSEWHERE = CodeLine("store", "train.py", 8)
NOTED = "lock other.py:3\nlock train.py:7"


def test_a_loop_that_waits_for_a_lock_of_threads_is_reported_by_samples():
    (finding,) = findings_of(sampled_store({(LOCK, "lock"): 90, (ELSEWHERE, "running"): 10}, NOTED))
    assert finding.message == (
        "Hold the lock of train.py:7 for less time: train waits for it there 7.20 ms per tick, 90% of store [sampled]"
    )
    assert (finding.path, finding.severity) == ("train/store", "critical")
    assert finding.saving is not None
    assert finding.saving.share == pytest.approx(0.72)


@pytest.mark.parametrize(
    "profile",
    [
        sampled_store({(LOCK, "running"): 90, (ELSEWHERE, "running"): 10}, NOTED),
        # a futex that is no lock of the program
        sampled_store({(ELSEWHERE, "lock"): 90, (LOCK, "running"): 10}, NOTED),
        sampled_store({(LOCK, "lock"): 90}),
        sampled_store({(LOCK, "lock"): 90}, NOTED, late=20),  # all cores were busy
        sampled_store({(LOCK, "lock"): 10}, NOTED),  # chance
        sampled_store({(LOCK, "lock"): 10, (ELSEWHERE, "running"): 90}, NOTED),
    ],
    ids=["works", "no lock", "unknown source", "late samples", "few samples", "little"],
)
def test_samples_that_show_no_long_wait_for_a_lock_give_no_finding(profile):
    assert findings_of(profile) == []


THREADS = """
import threading, time
import ticktree

lock, stop = threading.Lock(), threading.Event()

def work():
    while not stop.is_set():
        with lock:
            time.sleep(0.005)

threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
for tick in ticktree.loop("train", range(100)):
    with ticktree.section("store"):
        with lock:
            time.sleep(0.001)
stop.set()
for thread in threads:
    thread.join()
"""


@pytest.mark.slow
def test_threads_that_share_a_lock(tmp_path):
    profile, _ = run_sampled(tmp_path, THREADS, "--quiet", before="")
    assert profile.samples is not None
    if not profile.samples.is_late:  # else all cores were busy, and no finding is right
        assert [(finding.rule, finding.path, finding.facts["line"]) for finding in findings_of(profile)] == [
            ("lock-convoy", "train/store", "program.py:17")
        ]
