"""The recorder's own code runs finalisers and signal handlers of the program, which may enter sections in it."""

from __future__ import annotations

import contextvars
import gc
import os
import signal
import sys
import threading
from contextvars import copy_context

import pytest

from support.recorder.queries import counts, losses, node


class Finalised:
    """Enters a section when it goes."""

    def __init__(self, recorder, name="finaliser"):
        self.recorder, self.name = recorder, name

    def __del__(self):
        with self.recorder.section(self.name):
            self.recorder.advance(1)


def test_a_finaliser_may_enter_sections(recorder):
    with recorder.section("outer"):
        finalised = Finalised(recorder)
        with recorder.section("inner"):
            del finalised
    assert counts(recorder) == {"outer": 1, "outer/inner": 1, "outer/inner/finaliser": 1}
    assert losses(recorder) == {}


def test_a_finaliser_run_by_the_garbage_collector_may_enter_sections(recorder):
    for _ in range(200):
        with recorder.section("outer"):
            cycle = [Finalised(recorder)]
            cycle.append(cycle)
            del cycle
            with recorder.section("inner"):
                gc.collect(0)
    gc.collect()
    node_counts = counts(recorder)
    assert sum(count for path, count in node_counts.items() if path.endswith("finaliser")) == 200
    assert losses(recorder) == {}


def test_a_finaliser_run_as_a_context_is_released_may_enter_sections(recorder):
    """The last leave in a context drops it, and with it what its variables hold."""
    variable = contextvars.ContextVar("variable")

    def inside():
        variable.set(Finalised(recorder))
        with recorder.section("inside"):
            pass

    for _ in range(50):
        with recorder.section("outer"):
            context = copy_context()
            context.run(variable.set, Finalised(recorder))
            section = recorder.section("last")
            context.run(section.__enter__)
            run, leave = context.run, section.__exit__
            del context
            run(leave, None, None, None)
            del run
            copy_context().run(inside)
    node_counts = counts(recorder)
    assert node_counts["outer"] == node_counts["outer/last"] == node_counts["outer/inside"] == 50
    assert sum(count for path, count in node_counts.items() if path.endswith("finaliser")) == 100
    assert losses(recorder) == {}


def test_a_finaliser_run_as_a_dead_threads_context_is_released_may_enter_sections(recorder):
    variable = contextvars.ContextVar("variable")

    def work():
        variable.set(Finalised(recorder))
        with recorder.section("work"):
            pass

    for _ in range(30):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    gc.collect()
    assert counts(recorder)["work"] == 30
    recorder.snapshot().check()


def test_an_invalid_name_may_enter_sections_while_it_is_refused(recorder):
    class Name:
        def __repr__(self):
            with recorder.section("text"):
                return "named"

    with pytest.raises(TypeError, match="must be a str, not named"):
        recorder.section(Name())
    assert counts(recorder) == {"text": 1}
    assert losses(recorder) == {}


def test_a_name_may_enter_sections_while_it_is_hashed_and_compared(recorder):
    class Name(str):
        def __hash__(self):
            with recorder.section("hash"):
                return 7

        def __eq__(self, other):
            with recorder.section("compare"):
                return str(self) == str(other)

    for _ in range(3):
        with recorder.section(Name("named")):
            pass
    assert counts(recorder)["named"] == 3
    assert losses(recorder) == {}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a signal timer")
def test_signal_handlers_may_enter_sections_at_any_moment(recorder):
    fired = 0

    def handler(*_):
        nonlocal fired
        fired += 1
        with recorder.section("signal"), recorder.section("inner"):
            recorder.stage("handled")

    calls = 0
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        while fired < 100 and calls < 5_000_000:
            calls += 1
            with recorder.section("outer"), recorder.section("work"):
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    node_counts = counts(recorder)
    assert node_counts["outer"] == node_counts["outer/work"] == calls
    assert sum(count for path, count in node_counts.items() if path.endswith("signal")) == fired
    assert losses(recorder) == {}


def test_a_signal_handler_that_raises_leaves_the_accounts_whole(recorder):
    class InterruptError(Exception):
        pass

    def handler(*_):
        with recorder.section("signal"):
            raise InterruptError

    def interrupted():
        os.kill(os.getpid(), signal.SIGUSR1)
        while True:
            pass

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for _ in range(20):
            with pytest.raises(InterruptError), recorder.section("outer"):
                interrupted()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert node(recorder, "outer").count == 20
    assert node(recorder, "outer/signal").count == 20


def test_a_trace_function_may_enter_sections(recorder):
    def trace(frame, event, argument):
        if frame.f_code.co_name == "traced":
            with recorder.section("trace"):
                pass
        return trace

    def traced():
        with recorder.section("work"):
            recorder.advance(1)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        traced()
    finally:
        sys.settrace(before)
    assert counts(recorder)["work"] == 1
    assert losses(recorder) == {}


def test_garbage_collection_pauses_do_not_disturb_the_accounts(recorder):
    with recorder.section("outer"):
        gc.collect()
        recorder.advance(3)
    assert node(recorder, "outer").total_ns == 3


@pytest.mark.parametrize("kind", ["section", "stage", "tick", "loop", "record", "timed"])
def test_a_finaliser_run_while_a_call_site_is_noted_leaves_the_call_open(recorder, kind):
    """Python 3.11 collects garbage wherever an object is made: here, the frame of the first call at a new site."""

    def enter(name):
        if kind == "section":
            with recorder.section(name):
                recorder.advance(1)
        elif kind == "timed":
            recorder.timed(recorder.advance)(1)
        elif kind == "loop":
            for _ in recorder.loop(name, range(1)):
                recorder.advance(1)
        elif kind == "record":
            recorder.record_duration(name, 1e-9)
        else:
            with recorder.section("around"):
                getattr(recorder, kind)(name)
                recorder.advance(1)

    def first(name):
        cycle = [Finalised(recorder)]
        cycle.append(cycle)
        recorder.section(name)
        del cycle
        gc.set_threshold(1)
        try:
            enter(name)
        finally:
            gc.set_threshold(*thresholds)

    thresholds = gc.get_threshold()
    for number in range(20):
        copy_context().run(first, f"named {number}")
    gc.collect()
    profile = recorder.snapshot()
    node_counts = counts(recorder)
    assert sum(count for path, count in node_counts.items() if path.endswith("finaliser")) == 20
    named = {
        path: item for path, _, item in profile.root.walk() if path.rpartition("/")[2].startswith("named")
    }
    if kind != "timed":
        assert len(named) >= 20
    assert all(item.open is None for path, item in named.items())
    assert losses(recorder) == {}
    assert [path for path, _, item in profile.root.walk() if item.open] == [""]
