"""What is asked for while calls are pending leaves no trace in the program."""

from __future__ import annotations

import gc
import threading
import weakref

from ticktree.recorder.device_time import pending


class Thing:
    """Something large, say, of the program's."""


def test_what_a_thread_holds_when_it_asks_is_gone_when_it_lets_it_go():
    def asks():
        thing = Thing()
        pending.poll()
        return weakref.ref(thing)

    gc.disable()  # it would free what hangs in a circle, some time
    try:
        assert asks()() is None
    finally:
        gc.enable()


def test_what_other_threads_hold_meanwhile_is_gone_when_they_let_it_go():
    holds, may_go = threading.Event(), threading.Event()
    seen = []

    def work():
        thing = Thing()
        seen.append(weakref.ref(thing))
        holds.set()
        may_go.wait()

    thread = threading.Thread(target=work)
    thread.start()
    gc.disable()
    try:
        holds.wait()
        pending.poll()
        may_go.set()
        thread.join()
        assert seen[0]() is None
    finally:
        gc.enable()
