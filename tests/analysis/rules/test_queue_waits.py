"""A loop that waits at a queue: for producers that are busy, or for items that take long to be passed on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_samples import sampled, stack
from support.example_trainers import LEARNER, MS, node, thread, worker
from support.findings import findings
from ticktree.analysis.rules.queues import FullQueueRule, StarvedRule
from ticktree.analysis.rules.workers import IdleWorkerRule, TransportRule
from ticktree.profile import CodeLine, Loop, Node, Profile, Share, Waker, Wakes

TICKS = 200
LOADER = worker(1)
READ = CodeLine("read_shard", "/home/ada/train.py", 14)


def consuming(
    get_ms: int, put_ms: int = 0, *, other_ms: int = 0, known=1.0, calls=TICKS, marked=True
) -> Profile:
    """A loop of 10 ms that takes an item each tick, and the worker that puts it, with their waits."""
    wakers = {Waker("queue", LEARNER, LOADER, ""): Wakes(calls, round(known * get_ms * MS * calls), 0)}
    getting = node("Queue.get", {LEARNER: [get_ms * MS] * calls}, wait=True, wakers=wakers)
    loop = node("train", {LEARNER: [10 * MS] * TICKS}, getting)
    puts = node("Queue.put", {LOADER: [put_ms * MS] * TICKS}, concurrent=True, wait=True)
    others = node("Lock.acquire", {LOADER: [other_ms * MS] * TICKS}, concurrent=True, wait=True)
    run_ns = 10 * MS * TICKS
    parts = (loop,) if marked else (getting,)
    children = {child.name: child for child in (*parts, *(wait for wait in (puts, others) if wait.total_ns))}
    root = Node(name="root", children=children)
    if not marked:
        outside = Share(0, run_ns - getting.total_ns, 0)
        root = replace(root, self_ns=outside.self_ns, by_thread={LEARNER: outside})
    loops = {"train": Loop(path="train", ticks=TICKS, stats=loop.steady, busy_ns=loop.stats.sum_ns)}
    threads = [thread(LEARNER, "learner", last_ns=run_ns), thread(LOADER, "loader", last_ns=run_ns)]
    return Profile(root=root, loops=loops if marked else {}, threads={unit.id: unit for unit in threads})


def findings_of(profile: Profile):
    all_findings = findings(
        profile, rules=[StarvedRule(), FullQueueRule(), TransportRule(), IdleWorkerRule()]
    )
    return [finding for finding in all_findings if finding.kind == "recommendation"]


def test_a_loop_waits_for_a_producer_that_never_waits():
    (finding,) = findings_of(consuming(8))
    assert finding.message == (
        "Make items faster, or in more workers: a tick of train waits 80% of its time at Queue.get for loader"
    )
    assert (finding.rule, finding.path, finding.loop) == ("starved", "train/Queue.get", "train")
    assert finding.saving is not None
    assert finding.saving.share == pytest.approx(0.8)


def test_samples_say_where_the_producer_spends_its_time():
    samples = sampled({stack("", READ, state="sleep", thread="other threads"): 40})
    (finding,) = findings_of(replace(consuming(8), samples=samples))
    assert finding.message.endswith("for loader, most of whose time is in read_shard (train.py:14 [sampled])")


def test_so_does_a_program_without_loops():
    (finding,) = findings_of(consuming(8, marked=False))
    assert (finding.rule, finding.path, finding.loop) == ("starved", "Queue.get", None)
    assert finding.message.startswith("Make items faster, or in more workers: the run waits ")


def test_where_both_wait_the_time_goes_into_passing_items_on():
    (finding,) = findings_of(consuming(9, 9))
    assert finding.message == (
        "Send less through the queue (smaller types, only what is used), or share the memory: a tick of train waits "
        "90% of its time at Queue.get, while loader waits 90% of its time until an item is taken: the time goes into "
        "passing them on"
    )
    assert (finding.rule, finding.path) == ("transport", "train/Queue.get")


@pytest.mark.parametrize(
    "profile",
    [consuming(2), consuming(8, other_ms=6), consuming(8, known=0.4), consuming(8, calls=5)],
    ids=["it works", "the producer waits for another", "for others", "few"],
)
def test_other_waits_at_queues_are_no_lack_of_producers(profile):
    assert [finding.rule for finding in findings_of(profile) if finding.rule != "idle-worker"] == []


def test_a_loop_waits_for_room_in_a_queue():
    wakers = {Waker("queue space", LEARNER, LOADER, ""): Wakes(TICKS, 8 * MS * TICKS, 0)}
    putting = node("Queue.put", {LEARNER: [8 * MS] * TICKS}, wait=True, wakers=wakers)
    loop = node("follow", {LEARNER: [10 * MS] * TICKS}, putting)
    compress = node("compress", {LOADER: [9 * MS] * TICKS}, concurrent=True)
    run_ns = 10 * MS * TICKS
    threads = [thread(LEARNER, "learner", last_ns=run_ns), thread(LOADER, "recorder", last_ns=run_ns)]
    profile = Profile(
        root=Node(name="root", children={"follow": loop, "compress": compress}),
        loops={"follow": Loop(path="follow", ticks=TICKS, stats=loop.steady, busy_ns=loop.stats.sum_ns)},
        threads={other.id: other for other in threads},
    )
    (finding,) = findings_of(profile)
    assert finding.message == (
        "Take items faster, in more workers, or leave some out: a tick of follow waits 80% of its time at Queue.put "
        "for recorder, most of whose time is in compress"
    )
    assert (finding.rule, finding.path) == ("full-queue", "follow/Queue.put")
