from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from support.example_trainers import LEARNER, MS, S, Trainer, node, straggling_trainer, thread
from support.example_workers import ids, run_of_workers, stepping
from support.findings import findings
from support.steady_loops import watched
from support.virtual_programs import Program, with_node
from ticktree.analysis.rules.workers import IdleWorkerRule
from ticktree.profile import FirstTicks, Profile, Waker, Wakes


def messages_of(profile: Profile) -> list[str]:
    return [finding.message for finding in findings(profile, rules=[IdleWorkerRule()])]


def waiting(waits_ms, works_ms, wakers=None, calls=100) -> Profile:
    """Four workers that work and wait, and a learner that lets them go on."""
    workers = ids(4)
    wait = node("recv", {w: [ms * MS] * calls for w, ms in zip(workers, waits_ms, strict=True)}, wait=True)
    if wakers is not None:
        shares = wait.by_thread.items()
        wakers = {
            Waker("commands", w, LEARNER, "update"): Wakes(calls, round(s.total_ns * wakers), 0)
            for w, s in shares
        }
        wait = node(
            "recv",
            {w: [ms * MS] * calls for w, ms in zip(workers, waits_ms, strict=True)},
            wait=True,
            wakers=wakers,
        )
    update = node("update", {LEARNER: [8 * MS] * calls})
    return run_of_workers(
        stepping(works_ms, calls=calls),
        wait,
        update,
        others=[thread(LEARNER, "learner", last_ns=S)],
        run_ns=S,
    )


def test_it_says_who_waits_how_much_where_and_for_whom():
    assert messages_of(waiting([6] * 4, [4] * 4, wakers=0.9)) == [
        "4 × env worker wait 60% of their time, most of it in recv: 90% of that for learner in update"
    ]


def test_without_known_causes_only_the_cause_is_left_out():
    assert messages_of(waiting([6] * 4, [4] * 4)) == [
        "4 × env worker wait 60% of their time, most of it in recv"
    ]


def test_who_works_more_than_it_waits_is_not_idle():
    assert messages_of(waiting([5] * 4, [5] * 4)) == []


def test_only_the_idle_workers_of_a_role_are_reported():
    assert messages_of(waiting([8, 1, 1, 8], [2] * 4))[0].startswith("2 of 4 × env worker wait 80%")
    assert messages_of(waiting([8, 1, 1, 1], [2] * 4))[0].startswith("env worker 0 waits 80% of its time")


def test_a_wait_for_the_end_of_something_is_no_idleness():
    join = node("join", {LEARNER: [900 * MS]}, wait=True)
    profile = run_of_workers(
        stepping([9] * 4), join, others=[thread(LEARNER, "main", last_ns=S), thread("1-1/1", "x")], run_ns=S
    )
    assert messages_of(profile) == []


def test_a_short_life_is_no_idleness():
    assert messages_of(waiting([0.06] * 4, [0.04] * 4)) == []


def test_a_single_worker_waits_for_no_other():
    sleep = node("sleep", {LEARNER: [9 * MS] * 100}, wait=True)
    assert messages_of(run_of_workers(sleep, count=0, others=[thread(LEARNER, "main", last_ns=S)])) == []


def test_direct_and_indirect_waits_for_a_straggler_are_reported_for_the_straggler():
    assert messages_of(straggling_trainer()) == []
    assert messages_of(Trainer(slow={3: 8.5}, signals=False).profile()) == []


def test_without_a_straggler_they_are_reported():
    slow = Trainer(slow=dict.fromkeys(range(4), 9.0)).profile()
    assert messages_of(slow) == [
        "learner waits 62% of its time, most of it in step_wait: 100% of that for env worker in env step; "
        "overlap the two: let learner continue with the last result while env worker works"
    ]


def test_the_evidence_adds_up():
    (finding,) = findings(waiting([6] * 4, [4] * 4, wakers=0.9), rules=[IdleWorkerRule()])
    assert finding.facts == {
        "role": "env worker",
        "workers": 4,
        "idle_workers": 4,
        "waited_ns": 2400 * MS,
        "waited_share": 0.6,
        "waited_there_ns": 2400 * MS,
        "known_cause_share": 0.9,
        "woken_by": "learner",
        "woken_in": "update",
        "woken_by_share": 0.9,
    }
    assert (finding.severity, finding.path) == ("info", "recv")


def a_loop_and_its_server(works_ms: int, startup_ms: int = 0, infer_ms: int = 1) -> Profile:
    program = Program()
    program.work("imports", startup_ms)
    thread = threading.Thread(target=program.work, args=("infer", infer_ms), name="server")
    thread.start()
    thread.join()
    for _ in program.loop("play", range(50)):
        program.work("step", works_ms)
        program.work("recv", 10 - works_ms, wait=True)
    profile = program.profile()
    node = profile.root.at("play/recv")
    (waiter,), (server,) = node.by_thread, profile.root.at("infer").by_thread
    wakers = {Waker("replies", waiter, server, "infer"): Wakes(50, node.total_ns, 0)}
    return with_node(profile, "play/recv", wakers=wakers)


@pytest.mark.parametrize(("works_ms", "kind"), [(2, "size"), (3, "recommendation"), (4, "recommendation")])
def test_a_loop_that_waits_for_another_gains_no_more_than_the_two_can_overlap(works_ms, kind):
    (finding,) = findings(a_loop_and_its_server(works_ms), rules=[IdleWorkerRule()])
    assert finding.kind == kind
    assert finding.saving.share == pytest.approx(works_ms / 10)
    advice = "overlap the two: let MainThread continue with the last result while server works"
    assert (advice in finding.message) is (kind == "recommendation")


@pytest.mark.parametrize(
    ("used", "others", "kind", "saving"),
    [
        (1.0, 0.0, "recommendation", 0.3),  # of two cores one is free
        (1.8, 0.0, "size", 0.1),
        (1.0, 0.65, "recommendation", 1 - 1 / 1.35),
        (1.0, 0.8, "size", 1 - 1 / 1.2),
        (1.95, 0.0, "size", 0.025),
        (1.0, 1.0, "size", 0.0),
    ],
)
def test_where_no_core_is_free_nothing_can_overlap(used, others, kind, saving):
    readings = {"used": [used] * 9, "others": [others] * 9, "waiting": [0.0] * 9}
    profile = watched(a_loop_and_its_server(3), cores=2, **readings)
    (finding,) = findings(profile, rules=[IdleWorkerRule()])
    assert (finding.kind, finding.saving.share) == (kind, pytest.approx(saving, abs=0.011))


def with_start_up(profile: Profile, startup_ms: int) -> Profile:
    began_ns = 1_783_160_000_000_000_000
    first = FirstTicks(began_ns + startup_ms * MS, "1/1", (10 * MS,))
    loops = {"play": replace(profile.loops["play"], first_ticks=first)}
    return replace(profile, loops=loops, metadata={"started_ns": frozenset({began_ns})})


@pytest.mark.parametrize(("infer_ms", "kind", "saving"), [(370, "recommendation", 0.26), (400, "size", 0.2)])
def test_a_worker_that_is_busy_all_the_time_cannot_do_more_meanwhile(infer_ms, kind, saving):
    profile = with_start_up(a_loop_and_its_server(3, infer_ms=infer_ms), infer_ms)
    (finding,) = findings(profile, rules=[IdleWorkerRule()])
    assert (finding.kind, finding.saving.share) == (kind, pytest.approx(saving))


@pytest.mark.parametrize("startup_is_known", [True, False])
def test_the_start_up_of_the_thread_that_runs_the_main_loop_is_not_counted(startup_is_known):
    profile = a_loop_and_its_server(4, startup_ms=2000)
    if startup_is_known:
        profile = with_start_up(profile, 2000)
    waits = [finding.message for finding in findings(profile, rules=[IdleWorkerRule()])]
    assert waits == (
        [
            "MainThread waits 60% of its time, most of it in recv: 100% of that for server in infer; overlap the "
            "two: let MainThread continue with the last result while server works"
        ]
        if startup_is_known
        else []
    )


def test_the_sleep_that_holds_a_loops_rate_is_no_idleness():
    def messages(**options):
        program = Program()

        def work():
            program.work("camera", 1)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        for _ in program.loop("control", range(50), **options):
            program.work("act", 2)
            program.work("sleep", 8, wait=True)
        return messages_of(program.profile())

    assert messages(hz=100) == []
    assert messages() == []
