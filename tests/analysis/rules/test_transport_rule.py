from __future__ import annotations

import pytest

from support.example_trainers import LEARNER, MS, US, node, thread, worker
from support.findings import findings
from ticktree.analysis import Claim, Finding
from ticktree.analysis.rules.workers import TransportRule
from ticktree.outputs.sentences import sentence
from ticktree.profile import Loop, Node, Profile, Waker, Wakes
from ticktree.profile.short_names import ShortNames

STEPS = 1000
WORKERS = [worker(number) for number in range(8)]


def vector_env(
    step_us: int, send_us: int = 400, wait_us: int = 400, policy_us: int = 0, known: float = 1.0
) -> Profile:
    """A loop that sends eight workers their actions and waits for them, as AsyncVectorEnv does."""
    wakers = {
        Waker("result", LEARNER, worker, "env.step"): Wakes(STEPS, wait_us * US * STEPS // 8, 0)
        for worker in WORKERS
    }
    requests = {
        Waker("action", worker, LEARNER, "env/envs.step/step_async"): Wakes(STEPS, wait_us * US * STEPS, 0)
        for worker in WORKERS
    }
    tick_us = send_us + wait_us + policy_us + 10
    loop = node(
        "env",
        {LEARNER: [tick_us * US] * STEPS},
        node(
            "envs.step",
            {LEARNER: [(tick_us - 10) * US] * STEPS},
            node("step_async", {LEARNER: [send_us * US] * STEPS}, wait=True),
            node("policy", {LEARNER: [policy_us * US] * STEPS}),
            node("step_wait", {LEARNER: [wait_us * US] * STEPS}, wait=True, wakers=wakers),
        ),
    )
    run_ns = tick_us * US * STEPS
    idle_us = round((tick_us - step_us) * known)
    parts = (
        node("env.step", {worker: [step_us * US] * STEPS for worker in WORKERS}, concurrent=True),
        node(
            "recv",
            {worker: [idle_us * US] * STEPS for worker in WORKERS},
            concurrent=True,
            wait=True,
            wakers=requests,
        ),
    )
    root = Node(name="root", children={child.name: child for child in (loop, *parts)})
    threads = [
        thread(LEARNER, "learner", last_ns=run_ns),
        *(thread(worker, last_ns=run_ns) for worker in WORKERS),
    ]
    return Profile(
        root=root,
        loops={"env": Loop(path="env", ticks=STEPS, stats=loop.steady, busy_ns=loop.stats.sum_ns)},
        threads={unit.id: unit for unit in threads},
    )


def findings_of(profile: Profile):
    return findings(profile, rules=[TransportRule()])


def test_workers_that_work_less_than_the_loop_waits_for_them_cost_more_than_they_give():
    (finding,) = findings_of(vector_env(step_us=12))
    assert (finding.path, finding.loop, finding.severity) == ("env/envs.step", "env", "critical")
    assert finding.message == (
        "Do the work of 8 × env worker in the process of env, or give each worker more per message: they are busy for "
        "96.0 µs per tick together, and envs.step waits 800 µs to send to them and for them"
    )
    assert finding.saving.share == pytest.approx((800 - 96) / 810)


@pytest.mark.parametrize(
    ("role", "section", "advice"),
    [
        ("Worker<AsyncVectorEnv>", "envs.step", " (SyncVectorEnv instead of AsyncVectorEnv)"),
        ("_worker", "VecEnv step", " (DummyVecEnv instead of SubprocVecEnv)"),
        ("actor", "step", ""),
    ],
)
def test_the_class_is_the_one_of_the_programs_library(role, section, advice):
    facts = {"role": role, "workers": 4, "section": f"learn/{section}"} | dict.fromkeys(
        ("blocked_per_tick_ns", "worked_per_tick_ns"), MS
    )
    claim = Claim(0.5, "learn")
    one = Finding(rule="transport", path=f"learn/{section}", claim=claim, facts=facts)
    text = sentence(one, ShortNames(Node(name="root")))
    assert text.startswith(f"Do the work of 4 × {role} in the process of learn{advice}, or give")


def test_workers_that_would_take_as_long_one_after_the_other_are_worth_their_transport():
    assert findings_of(vector_env(step_us=60)) == []
    assert findings_of(vector_env(step_us=400)) == []


def test_what_the_loop_does_while_its_workers_work_is_not_called_transport():
    (finding,) = findings_of(vector_env(step_us=12, policy_us=2000))
    assert finding.saving.ns == pytest.approx((800 - 96) * US)


def test_workers_mostly_outside_all_sections_give_no_finding():
    assert findings_of(vector_env(step_us=12, known=0.7)) == []


def test_the_wait_for_such_workers_is_reported_once():
    advice = [
        finding.rule for finding in findings(vector_env(step_us=12)) if finding.kind == "recommendation"
    ]
    assert advice == ["transport"]
