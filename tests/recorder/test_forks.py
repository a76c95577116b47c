"""A forked child has a file of its own; it never writes the parent's, and nothing is counted twice."""

from __future__ import annotations

import os
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

WORK = """
import os, sys, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
def work(name, calls):
    for _ in range(calls):
        with ticktree.section(name):
            pass
def wait(pid):
    assert os.waitpid(pid, 0)[1] == 0
"""


def counts(profile):
    return {path: node.count for path, _, node in profile.root.walk() if path}


def test_a_childs_calls_are_children_of_the_section_that_forked_it(run_session):
    profile, _ = run_session(
        WORK
        + """
ticktree.enable()
work("before", 5)
with ticktree.section("spawn"):
    pid = os.fork()
    if not pid:
        work("child", 3)
        os._exit(0)
    work("parent", 2)
    wait(pid)
work("after", 1)
"""
    )
    expected = {"before": 5, "spawn": 1, "spawn/child": 3, "spawn/parent": 2, "after": 1}
    assert counts(profile) == expected
    child = profile.root.at("spawn/child")
    assert child.concurrent_ns == child.total_ns
    assert profile.losses == {}


def test_a_child_that_ends_in_good_order_leaves_the_run_to_its_parent(run_session):
    profile, _ = run_session(
        WORK
        + """
import atexit
ticktree.enable()
pid = os.fork()
if not pid:
    work("child", 3)
    sys.exit(0)
wait(pid)
work("parent", 2)
"""
    )
    assert counts(profile) == {"child": 3, "parent": 2}


def test_a_section_open_across_the_fork_is_left_in_both_without_harm(run_session):
    profile, _ = run_session(
        WORK
        + """
ticktree.enable()
with ticktree.section("both"):
    pid = os.fork()
    work("inside", 1)
if not pid:
    work("child", 1)
    os._exit(0)
wait(pid)
"""
    )
    assert counts(profile) == {"both": 1, "both/inside": 2, "both/child": 1}
    assert not profile.losses  # that the child leaves it is no mistake


def test_what_was_open_is_left_by_the_children_of_children_too_and_only_as_often(run_session):
    profile, _ = run_session(
        WORK
        + """
ticktree.enable()
@ticktree.timed
def forks():
    return os.fork()
outer = ticktree.section("outer")
with outer, ticktree.section("inner"):
    pid = forks()
    if not pid:
        pid = os.fork()
        if not pid:
            pid = None
if pid is None:
    with outer:
        pass
    outer.__exit__(None, None, None)  # this one is a mistake
    os._exit(0)
wait(pid)
"""
    )
    assert dict(profile.losses) == {"unmatched_leaves": 1}


def test_children_of_children_are_below_each_other(run_session):
    profile, _ = run_session(
        WORK
        + """
ticktree.enable()
with ticktree.section("first"):
    pid = os.fork()
    if not pid:
        with ticktree.section("second"):
            pid = os.fork()
            if not pid:
                work("third", 4)
                os._exit(0)
            wait(pid)
        os._exit(0)
    wait(pid)
"""
    )
    assert counts(profile) == {"first": 1, "first/second": 1, "first/second/third": 4}


def test_a_child_that_records_nothing_leaves_no_file(run_session, tmp_path):
    profile, result = run_session(
        WORK
        + """
from ticktree.session import current
ticktree.enable()
work("parent", 1)
pid = os.fork()
if not pid:
    os._exit(0)
wait(pid)
print(len(current.run.memory_files()))
"""
    )
    assert counts(profile) == {"parent": 1}
    assert result.stdout.strip() == "1"


def test_many_children_at_once_are_all_counted(run_session):
    profile, _ = run_session(
        WORK
        + """
ticktree.enable()
with ticktree.section("pool"):
    pids = []
    for _ in range(12):
        pid = os.fork()
        if not pid:
            for _ in ticktree.loop("worker", range(10), hz=1000):
                work("job", 2)
            ticktree.gauge("queue", 3)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        wait(pid)
"""
    )
    assert counts(profile) == {"pool": 1, "pool/worker": 120, "pool/worker/job": 240}
    assert profile.loops["pool/worker"].ticks == 120
    assert profile.gauges["queue"].count == 12


def test_a_fork_while_other_threads_are_inside_sections_does_not_count_them_twice(run_session):
    profile, _ = run_session(
        WORK
        + """
import threading
ticktree.enable()
go, stop = threading.Event(), threading.Event()
def thread():
    with ticktree.section("thread"):
        go.set()
        stop.wait()
other = threading.Thread(target=thread)
other.start()
go.wait()
pid = os.fork()
if not pid:
    work("child", 2)
    os._exit(0)
wait(pid)
stop.set()
other.join()
"""
    )
    assert counts(profile) == {"thread": 1, "child": 2}
    assert profile.losses == {}


def test_a_fork_in_a_thread_is_a_child_of_that_threads_section(run_session):
    profile, _ = run_session(
        WORK
        + """
import threading
ticktree.enable()
def thread():
    with ticktree.section("thread"):
        pid = os.fork()
        if not pid:
            work("child", 2)
            os._exit(0)
        wait(pid)
with ticktree.section("main"):
    other = threading.Thread(target=thread)
    other.start()
    other.join()
"""
    )
    assert counts(profile) == {"main": 1, "main/thread": 1, "main/thread/child": 2}


def test_every_kind_of_recording_is_the_childs_own(run_session):
    profile, _ = run_session(
        WORK
        + """
ticktree.enable()
@ticktree.timed("timed")
def timed(fork=False):
    pid = os.fork() if fork else 1
    if pid == 0:
        with ticktree.section("inner"): pass
    return pid
loop = ticktree.loop("loop", range(4))
next(loop)
ticktree.gauge("gauge", 1)
ticktree.record_duration("record", 1.0)
timed()
pid = timed(fork=True)
if not pid:
    next(loop)
    next(loop)
    loop.close()
    timed()
    ticktree.stage("stage")
    ticktree.tick("tick", hz=10)
    ticktree.tick("tick", hz=10)
    ticktree.gauge("gauge", 5)
    ticktree.record_duration("record", 1.0)
    with ticktree.section("work") as section:
        section.work(items=2)
    ticktree.snapshot().check()
    ticktree.disable()
    os._exit(0)
wait(pid)
loop.close()
"""
    )
    node_counts = {path.rsplit("/", 1)[-1]: 0 for path in counts(profile)}
    for path, count in counts(profile).items():
        node_counts[path.rsplit("/", 1)[-1]] += count
    assert node_counts == {"loop": 1, "record": 2, "timed": 3, "inner": 1, "stage": 0, "tick": 1, "work": 1}
    assert (profile.gauges["gauge"].count, profile.gauges["gauge"].max) == (2, 5)


def test_a_child_may_be_forked_while_disabled_and_enable_itself(run_session):
    profile, _ = run_session(
        WORK
        + """
ticktree.enable()
work("parent", 1)
ticktree.disable()
pid = os.fork()
if not pid:
    work("nothing", 1)
    ticktree.enable()
    work("child", 2)
    os._exit(0)
wait(pid)
"""
    )
    assert counts(profile) == {"parent": 1, "child": 2}


def test_a_snapshot_in_a_child_is_of_the_child(run_session):
    _, result = run_session(
        WORK
        + """
ticktree.enable()
work("parent", 4)
pid = os.fork()
if not pid:
    work("child", 2)
    profile = ticktree.snapshot()
    profile.check()
    print(sorted((path, node.count) for path, _, node in profile.root.walk() if path), flush=True)
    os._exit(0)
wait(pid)
"""
    )
    assert result.stdout.strip() == "[('child', 2)]"


def test_multiprocessing_by_fork_is_recorded(run_session):
    profile, _ = run_session(
        WORK
        + """
import multiprocessing
def job(number):
    with ticktree.section("job"):
        return number * 2
if __name__ == "__main__":
    ticktree.enable()
    with ticktree.section("pool"), multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(job, range(10)) == list(range(0, 20, 2))
        pool.close()
        pool.join()
"""
    )
    assert counts(profile)["pool/job"] == 10


@pytest.mark.skipif(sys.platform != "linux", reason="a file of another process is looked at through /proc")
def test_the_parents_file_is_untouched_by_a_child(run_session):
    _, result = run_session(
        WORK
        + """
from ticktree.session import current
ticktree.enable()
work("parent", 4)
ticktree.disable()
path = current.recorder.path
before = path.read_bytes()
pid = os.fork()
if not pid:
    ticktree.enable()
    work("parent", 1000)
    ticktree.reset()
    ticktree.snapshot()
    ticktree.disable()
    os._exit(0)
wait(pid)
print(path.read_bytes() == before, len(current.run.memory_files()))
"""
    )
    assert result.stdout.split() == ["True", "2"]


def test_a_private_recorder_continues_in_a_child_with_a_copy(run_python):
    run_python(
        """
        import os, ticktree
        recorder = ticktree.Recorder(virtual_clock=True)
        with recorder.section("outer"):
            recorder.advance(5)
            pid = os.fork()
            recorder.advance(2 if pid else 3)
        profile = recorder.snapshot()
        profile.check()
        outer = profile.root.at("outer")
        assert (outer.count, outer.total_ns) == (1, 7 if pid else 8), outer
        if not pid:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """
    )


def test_what_a_child_acts_on_in_its_parents_tick_is_not_recorded_and_in_its_own_is(run_session):
    profile, _ = run_session(
        WORK
        + """
ticktree.enable()
for tick in ticktree.loop("control", hz=1000, pace=True):
    tick.origin(time.monotonic())
    if tick == 2:
        pid = os.fork()
        if not pid:
            tick.acted()
            tick.origin(time.monotonic())
            continue
        wait(pid)
    if tick == 4:
        break
if not pid:
    os._exit(0)
"""
    )
    node_counts = {
        path: count for path, count in counts(profile).items() if path.endswith("sensor to action")
    }
    # The parent's ticks 0 to 3, and the child's tick 3.
    assert node_counts == {"control/sensor to action": 4, "control/control/sensor to action": 1}


def test_a_child_that_gets_no_file_never_writes_its_parents(tmp_path):
    """Where its own file cannot be had, the child does not record; nor does what it does then reach the parent's."""
    from ticktree.recorder import Recorder

    def fails():
        raise OSError("no descriptors left")

    recorder = Recorder(virtual_clock=True)
    recorder.open(tmp_path / "1-1.tt", identity=(1, 1, "boot"))
    recorder.child_file = fails
    recorder.enable()
    with recorder.section("before"):
        recorder.advance(1)
    pid = os.fork()
    if not pid:
        status = 1
        try:
            before = (tmp_path / "1-1.tt").read_bytes()
            with recorder.section("before"):
                recorder.advance(5)
            recorder.reset()
            recorder.set_costs(1, 1)
            recorder.note_time()
            is_same = (tmp_path / "1-1.tt").read_bytes() == before
            status = 0 if is_same and recorder.image() == b"" and not recorder.recording else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    recorder.disable()
