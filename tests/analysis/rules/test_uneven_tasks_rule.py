from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from support.example_trainers import LEARNER, MS, S, node, thread, worker
from support.findings import findings
from ticktree.analysis.rules.workers import StragglerRule, UnevenTasksRule
from ticktree.profile import Node, Profile, Waker, Wakes
from ticktree.run.finishing import RunDirectory

ROUNDS = 50
WORKERS = [worker(number) for number in range(4)]


def pool(long_ms: int, waited_ms: int, *, name="ThreadPoolExecutor-0", rounds=ROUNDS) -> Profile:
    """A pool of four, whose tasks take 10 ms, but the last of each round, and how long each round was waited for."""
    tasks = {
        worker: [(10 if (index + number) % 4 else long_ms) * MS for index in range(rounds)]
        for number, worker in enumerate(WORKERS)
    }
    wakers = {
        Waker("future", LEARNER, worker, ""): Wakes(rounds, waited_ms * MS * rounds // 4, 0)
        for worker in WORKERS
    }
    waits = node("Future.result", {LEARNER: [waited_ms * MS] * rounds}, wait=True, wakers=wakers)
    work = node("evaluate", tasks, concurrent=True)
    run_ns = (waited_ms + 1) * MS * rounds
    threads = [
        thread(LEARNER, "learner", last_ns=run_ns),
        *(thread(worker, name, last_ns=run_ns) for worker in WORKERS),
    ]
    root = Node(name="root", self_ns=MS * rounds, children={child.name: child for child in (waits, work)})
    return Profile(root=root, threads={unit.id: unit for unit in threads})


def findings_of(profile: Profile):
    return findings(profile, rules=[UnevenTasksRule(), StragglerRule()])


def test_a_pool_is_waited_for_whose_tasks_take_unequally_long():
    (finding,) = findings_of(pool(70, 70))
    assert finding.message == (
        "Start the longest tasks first, split them, or continue without the last (as_completed): one call of evaluate "
        "in ten takes 69.3 ms, half of them 10.1 ms; 4 × ThreadPoolExecutor-0 work 1.25 s each, and 3.50 s is waited "
        "for them"
    )
    assert (finding.rule, finding.path, finding.loop) == ("uneven-tasks", "evaluate", None)
    assert finding.saving is not None
    assert finding.saving.share == pytest.approx((70 - 25) / 71, rel=0.05)


@pytest.mark.parametrize(
    "profile",
    [pool(12, 12), pool(70, 30), pool(70, 70, name="actor"), pool(70, 70, rounds=4)],
    ids=["equal", "busy", "no pool", "few"],
)
def test_other_pools_give_no_finding(profile):
    assert [finding.rule for finding in findings_of(profile) if finding.rule == "uneven-tasks"] == []


def test_a_worker_that_got_more_of_the_long_tasks_is_no_straggler():
    profile = pool(70, 70)
    work = profile.root.at("evaluate")
    first = work.by_thread[WORKERS[0]]
    more = replace(
        work, by_thread={**work.by_thread, WORKERS[0]: replace(first, total_ns=2 * first.total_ns)}
    )
    children = {**profile.root.children, "evaluate": more}
    all_findings = findings_of(replace(profile, root=replace(profile.root, children=children)))
    assert [finding.rule for finding in all_findings] == ["uneven-tasks"]


def test_a_pool_is_not_judged_by_anothers_tasks():
    profile = pool(70, 70)
    idle = thread(worker(9), "pool worker", last_ns=S)
    idle_too = thread(worker(10), "pool worker", last_ns=S)
    threads = {**profile.threads, idle.id: idle, idle_too.id: idle_too}
    assert [finding.facts["role"] for finding in findings_of(replace(profile, threads=threads))] == [
        "ThreadPoolExecutor-0"
    ]


PROGRAM = """
import time
from concurrent.futures import ThreadPoolExecutor

def evaluate(seconds):
    time.sleep(seconds)

with ThreadPoolExecutor(4) as pool:
    for _ in range(12):
        list(pool.map(evaluate, [0.02, 0.02, 0.4, 0.02]))
"""


@pytest.mark.slow
def test_a_program_that_waits_for_the_longest_of_each_round(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "ticktree", "run", "--quiet", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    profile = RunDirectory.newest(tmp_path / "ticktree-runs").profile()
    recommended = [finding.rule for finding in findings(profile) if finding.kind == "recommendation"]
    assert recommended[:1] == ["uneven-tasks"]
