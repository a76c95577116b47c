"""Wrapped libraries behave as they did, and are as they were once they are put back."""

from __future__ import annotations

import gc
import inspect
import multiprocessing
import multiprocessing.connection
import multiprocessing.process
import multiprocessing.queues
import multiprocessing.synchronize
import os
import pickle
import queue
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

import pytest

import ticktree
from ticktree import instruments as instrument
from ticktree.instruments import selection, waits
from ticktree.instruments.losses import MissingTargetError
from ticktree.instruments.patches import Patches

FUNCTIONS = [
    (queue.Queue, "get"),
    (queue.Queue, "put"),
    (queue.Queue, "join"),
    (queue.Queue, "task_done"),
    (threading.Thread, "join"),
    (threading.Event, "wait"),
    (threading.Event, "set"),
    (threading.Condition, "wait"),
    (threading.Condition, "notify"),
    (threading.Barrier, "wait"),
    (Future, "result"),
    (Future, "exception"),
    (Future, "set_result"),
    (multiprocessing.process.BaseProcess, "start"),
    (multiprocessing.process.BaseProcess, "join"),
    (multiprocessing.queues.Queue, "get"),
    (multiprocessing.queues.Queue, "put"),
    (multiprocessing.queues.JoinableQueue, "put"),
    (multiprocessing.queues.JoinableQueue, "join"),
    (multiprocessing.queues.SimpleQueue, "get"),
    (multiprocessing.connection.Connection, "_recv_bytes"),
    (multiprocessing.connection.Connection, "_send_bytes"),
    (multiprocessing.connection._ConnectionBase, "poll"),
    (multiprocessing.connection, "Pipe"),
    (multiprocessing.synchronize.SemLock, "_make_methods"),
    (multiprocessing.synchronize.SemLock, "__enter__"),
    (multiprocessing.synchronize.Condition, "wait"),
    (multiprocessing.synchronize.Event, "wait"),
]
BARE = [vars(owner)[name] for owner, name in FUNCTIONS]


@pytest.fixture(params=["recording", "not recording"])
def recorder(request):
    recorder = ticktree.Recorder()
    if request.param == "not recording":
        recorder.disable()
    waits.INSTRUMENT.install(recorder)
    yield recorder
    waits.INSTRUMENT.uninstall()
    recorder.disable()


def test_all_of_it_is_wrapped_and_all_of_it_is_put_back():
    recorder = ticktree.Recorder()
    waits.INSTRUMENT.install(recorder)
    wrapped = [vars(owner)[name] for owner, name in FUNCTIONS]
    assert all(one is not other for one, other in zip(wrapped, BARE, strict=True))
    waits.INSTRUMENT.uninstall()
    recorder.disable()
    assert [vars(owner)[name] for owner, name in FUNCTIONS] == BARE


@pytest.mark.parametrize(
    "at", range(len(FUNCTIONS)), ids=lambda at: f"{FUNCTIONS[at][0].__name__}.{FUNCTIONS[at][1]}"
)
def test_signatures_names_and_docstrings_stay(recorder, at):
    owner, name = FUNCTIONS[at]
    now, before = vars(owner)[name], BARE[at]
    assert inspect.signature(now) == inspect.signature(before)
    assert (now.__name__, now.__qualname__, now.__doc__, now.__module__) == (
        before.__name__,
        before.__qualname__,
        before.__doc__,
        before.__module__,
    )


def test_queues_of_threads_raise_and_time_out_as_they_did(recorder):
    with recorder.section("here"):
        items = queue.Queue(1)
        with pytest.raises(queue.Empty):
            items.get(timeout=0.01)
        with pytest.raises(queue.Empty):
            items.get(False)
        with pytest.raises(queue.Empty):
            items.get_nowait()
        with pytest.raises(ValueError, match="timeout"):
            items.get(timeout=-1)
        items.put("one")
        with pytest.raises(queue.Full):
            items.put("two", timeout=0.01)
        with pytest.raises(queue.Full):
            items.put("two", block=False)
        assert items.get(block=True, timeout=1) == "one"
        items.task_done()
        with pytest.raises(ValueError, match="too many"):
            items.task_done()
        items.join()
        ordered = queue.PriorityQueue()
        ordered.put(3)
        ordered.put(item=1)
        assert (ordered.get(), ordered.get()) == (1, 3)


def test_queues_that_override_get_and_put_are_asked_and_may_ask_the_original(recorder):
    calls = []

    class Mine(queue.Queue):
        def get(self, *args, **kwargs):
            calls.append("get")
            return super().get(*args, **kwargs)

        def put(self, item, **kwargs):
            calls.append("put")
            super().put(item, **kwargs)

    mine = Mine(3)
    with recorder.section("here"):
        mine.put(1)
        assert mine.get() == 1
    assert calls == ["put", "get"]


def test_queues_of_processes_raise_time_out_and_close_as_they_did(recorder):
    context = multiprocessing.get_context("fork")
    items = context.Queue(1)
    with recorder.section("here"):
        with pytest.raises(queue.Empty):
            items.get(timeout=0.01)
        with pytest.raises(queue.Empty):
            items.get(False)
        items.put([1])
        with pytest.raises(queue.Full):
            items.put([2], timeout=0.01)
        assert items.get() == [1]
    items.close()
    items.join_thread()
    with pytest.raises(ValueError, match="closed"):
        items.put(1)
    joinable = context.JoinableQueue()
    joinable.put(1)
    assert joinable.get() == 1
    joinable.task_done()
    joinable.join()


def test_pipes_raise_at_their_end_as_they_did(recorder):
    ours, theirs = multiprocessing.Pipe()
    with recorder.section("here"):
        ours.send({"a": 1})
        assert theirs.poll()
        assert theirs.poll(0.01)
        assert theirs.recv() == {"a": 1}
        assert not theirs.poll(0.01)
        assert not theirs.poll(timeout=0)
        ours.send_bytes(b"abcdef", 1, 3)
        with pytest.raises(OSError):
            theirs.recv_bytes(1)
        ours.close()
        with pytest.raises((EOFError, OSError)):
            theirs.recv()
        with pytest.raises(OSError):
            ours.send(1)
        with pytest.raises(OSError):
            ours.recv()


@pytest.mark.slow
def test_what_was_sent_hangs_in_no_circle(recorder):
    """Where it did, the collector would find it: some versions of Python crash on the buffer of such a message."""
    context = multiprocessing.get_context("fork")

    def send():
        items = context.Queue()
        ours, theirs = context.Pipe()
        with recorder.section("here"):
            items.put([1])
            assert items.get() == [1]
            ours.send({"a": 1})
            assert theirs.recv() == {"a": 1}
            theirs.close()
            with pytest.raises(OSError):
                ours.send({"b": 2})
            recorder.snapshot()
        items.close()
        items.join_thread()

    gc.collect()
    gc.disable()
    try:
        send()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(thing).__name__ for thing in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left & {"BytesIO", "_BytesIOBuffer", "managedbuffer", "memoryview"}


def test_locks_of_processes_take_release_and_time_out_as_they_did(recorder):
    context = multiprocessing.get_context("fork")
    lock, again = context.Lock(), context.RLock()
    with recorder.section("here"):
        assert lock.acquire()
        assert not lock.acquire(False)
        assert not lock.acquire(block=False)
        assert not lock.acquire(timeout=0.01)
        assert not lock.acquire(True, 0.01)
        lock.release()
        with pytest.raises(ValueError):
            lock.release()
        with again, again:
            pass
        with lock as entered:
            assert entered
        event = context.Event()
        assert not event.wait(0.01)
        event.set()
        assert event.wait()
        condition = context.Condition()
        with condition:
            assert not condition.wait(0.01)
            condition.notify_all()


def test_threads_events_and_barriers_do_as_they_did(recorder):
    with recorder.section("here"):
        thread = threading.Thread(target=time.sleep, args=(0.05,))
        with pytest.raises(RuntimeError):
            thread.join()
        thread.start()
        assert thread.join(0.001) is None
        assert thread.is_alive()
        assert thread.join() is None
        assert thread.join() is None
        event = threading.Event()
        assert event.wait(0.01) is False
        event.set()
        assert event.wait() is True
        barrier = threading.Barrier(2, timeout=0.01)
        with pytest.raises(threading.BrokenBarrierError):
            barrier.wait()
        assert threading.Barrier(1).wait() == 0
        condition = threading.Condition()
        with pytest.raises(RuntimeError):
            condition.wait()
        with condition:
            assert condition.wait_for(lambda: False, 0.01) is False


def test_futures_give_and_raise_what_they_did(recorder):
    error = KeyError("mine")

    def fail():
        time.sleep(0.02)
        raise error

    with recorder.section("here"), ThreadPoolExecutor(1) as executor:
        slow = executor.submit(time.sleep, 0.05)
        with pytest.raises(FutureTimeoutError):
            slow.result(timeout=0.001)
        assert slow.result() is None
        failed = executor.submit(fail)
        with pytest.raises(KeyError) as caught:
            failed.result()
        assert caught.value is error
        assert executor.submit(fail).exception() is error
        assert executor.submit(pow, 2, 3).result(1) == 8


def test_processes_are_started_and_joined_as_they_were(recorder):
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.05,))
    with recorder.section("here"):
        with pytest.raises(AssertionError):
            process.join()
        process.start()
        process.join(0.001)
        assert process.exitcode is None
        process.join()
        assert process.exitcode == 0


def test_what_is_sent_to_other_processes_is_packed_as_it_was(recorder):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    items = context.Queue()
    with pytest.raises(RuntimeError, match="inheritance"):
        pickle.dumps(items)
    from multiprocessing import context as spawning
    from multiprocessing.reduction import ForkingPickler

    class Popen:  # what makes a pickle possible: that a process is being started
        DupFd = int

        @staticmethod
        def duplicate_for_child(fd):
            return fd

    spawning.set_spawning_popen(Popen)
    try:
        for thing in (theirs, items, context.Lock(), context.Event()):
            assert b"ticktree" not in bytes(ForkingPickler.dumps(thing))
    finally:
        spawning.set_spawning_popen(None)
    ours.close()
    items.close()


def test_waits_are_never_inside_each_other():
    recorder = ticktree.Recorder()
    waits.INSTRUMENT.install(recorder)
    try:
        items = queue.Queue()
        threading.Timer(0.02, lambda: items.put(1)).start()
        with recorder.section("here"):
            items.get()
            with recorder.section("my wait", wait=True), pytest.raises(queue.Empty):
                items.get(timeout=0.001)
    finally:
        waits.INSTRUMENT.uninstall()
        recorder.disable()
    here = recorder.snapshot().root.at("here")
    assert {name: list(child.children) for name, child in here.children.items()} == {
        "Queue.get": [],
        "my wait": [],
    }
    assert not recorder.snapshot().losses


def test_only_known_names_are_installed():
    with pytest.raises(ticktree.TicktreeError, match="no library 'nothing' is known"):
        instrument.install("nothing")
    assert queue.Queue.get is BARE[0]


def test_to_leave_one_out_is_to_take_the_others():
    def names(*words):
        return [library.name for library in selection.select_libraries(words)]

    default = names("default")
    assert "waits" in default
    assert names("-waits") == names("default", "-waits") == [name for name in default if name != "waits"]
    assert set(names("-waits", "sleep")) == {*names("-waits"), "sleep"}
    assert names("sleep", "-sleep") == names("sleep", "-waits", "-sleep") == []


def test_installing_is_for_the_programs_own_recorder_and_told_to_its_children(monkeypatch):
    monkeypatch.setenv(instrument.INSTRUMENT_VARIABLE, "")
    instrument.install("waits")
    instrument.install("waits")
    assert queue.Queue.get is not BARE[0]
    assert os.environ[instrument.INSTRUMENT_VARIABLE] == "waits"
    instrument.uninstall()
    assert queue.Queue.get is BARE[0]
    assert os.environ[instrument.INSTRUMENT_VARIABLE] == ""


def test_what_somebody_else_wraps_meanwhile_stays_theirs(monkeypatch):
    class Owner:
        def method(self):
            return 1

    patches = Patches()
    patches.wrap(Owner, "method", lambda method: lambda self: method(self) + 1)
    ours = Owner.method
    assert Owner().method() == 2
    Owner.method = theirs = lambda self: ours(self) + 10
    patches.undo()
    assert Owner.method is theirs
    assert Owner().method() == 12
    with pytest.raises(MissingTargetError, match="Owner has no missing"):
        patches.wrap(Owner, "missing", lambda method: method)
    assert not hasattr(Owner, "missing")
