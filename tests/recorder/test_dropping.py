"""A recorder without references is freed at once, with its memory; its sections and loops then do nothing."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from pathlib import Path

import pytest

import ticktree

# Of one mapping more or less, Python and the C library decide.
FEW = 20


def mapped() -> int:
    """How many regions of memory this process has mapped."""
    return len(Path("/proc/self/maps").read_text().splitlines())


def use(recorder) -> None:
    with recorder.section("section"):
        recorder.stage("stage")
    for tick in recorder.loop("loop"):
        tick.origin(0)
        if tick > 2:
            break
    for _ in recorder.loop("items", iter(range(3))):
        recorder.gauge("gauge", 1.0)
    recorder.tick("tick").origin(0)
    recorder.timed(len)("x")
    recorder.record_duration("record", 0.5)


def test_a_recorder_is_gone_when_nobody_holds_it_without_the_garbage_collector():
    gc.disable()
    try:
        recorder = ticktree.Recorder()
        use(recorder)
        reference = weakref.ref(recorder)
        del recorder
        assert reference() is None
    finally:
        gc.enable()


def test_a_recorder_in_a_cycle_is_gone_with_the_cycle():
    recorder = ticktree.Recorder()
    use(recorder)
    recorder.itself = [recorder]
    reference = weakref.ref(recorder)
    del recorder
    gc.collect()
    assert reference() is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_three_thousand_dropped_recorders_leave_nothing_behind():
    def drop(times: int) -> None:
        for at in range(times):
            recorder = ticktree.Recorder()
            use(recorder)
            if at % 10 == 0:  # its last use in a thread that ends with a section open
                thread = threading.Thread(target=recorder.section("open").__enter__)
                thread.start()
                thread.join()

    drop(100)
    before = mapped()
    drop(3000)
    assert mapped() < before + FEW


def test_a_section_a_stage_and_a_function_that_outlive_their_recorder_do_nothing():
    recorder = ticktree.Recorder(virtual_clock=True)
    section, waiting = recorder.section("section"), recorder.section("wait", wait=True, cpu=True, memory=True)
    timed = recorder.timed(lambda: 7)
    with section:
        del recorder
        with waiting:
            section.work(items=3)
        assert timed() == 7
    assert section.recorder is None
    with section:
        pass
    assert section.results(5) == 5


def test_a_running_loop_that_outlives_its_recorder_continues_unrecorded():
    recorder = ticktree.Recorder()
    endless, items = recorder.loop("endless", hz=1000.0, pace=True), recorder.loop("items", range(5))
    boundary = recorder.tick("tick")
    next(endless).origin(0)
    next(items)
    del recorder
    tick = next(endless)
    tick.origin(0)
    tick.acted()
    boundary.origin(0)
    boundary.acted()
    endless.close()
    assert list(items) == [1, 2, 3, 4]


def test_a_thread_may_be_inside_a_section_of_a_recorder_that_is_dropped():
    recorder = ticktree.Recorder()
    inside, go = threading.Event(), threading.Event()
    failed = []

    def work(section):
        try:
            with section:
                inside.set()
                go.wait()
            with section:
                pass
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, args=(recorder.section("section"),))
    thread.start()
    inside.wait()
    reference = weakref.ref(recorder)
    recorder.disable()  # a started thread carries where it was started, and with it the recorder
    del thread._ticktree_origins, recorder
    assert reference() is None
    go.set()
    thread.join()
    assert not failed
    again = ticktree.Recorder()
    use(again)  # what the thread left is not found here
    again.snapshot().check()
