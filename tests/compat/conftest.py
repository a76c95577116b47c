from __future__ import annotations

import pytest

import ticktree
from ticktree.compat import mlagents as timers
from ticktree.session import current


class Timers:
    """The module with a stack on a virtual clock in place of the thread's own."""

    def __init__(self, recorder, stack):
        self.recorder = recorder
        self.stack = stack

    def advance(self, ms):
        self.recorder.advance(round(ms * 1e6))

    def tree(self):
        return timers.get_timer_tree()

    def times(self):
        """Total, count and self time in ms of each timer, by path."""
        found = {}
        waiting = [("", self.tree())]
        while waiting:
            path, node = waiting.pop()
            found[path] = (round(node["total"] * 1e3, 6), node["count"], round(node["self"] * 1e3, 6))
            children = node.get("children", {}).items()
            waiting.extend((f"{path}/{name}" if path else name, child) for name, child in children)
        return found


@pytest.fixture
def virtual(monkeypatch):
    recorder = ticktree.Recorder(virtual_clock=True)
    stack = timers.TimerStack(recorder)
    monkeypatch.setattr(timers, "_get_thread_timer", lambda: stack)
    yield Timers(recorder, stack)
    recorder.snapshot().check()
    recorder.disable()


@pytest.fixture(autouse=True, scope="module")
def _own_recorder_at_rest_afterwards():
    """The timers record with the program's own recorder: here that of the tests, whose others want none."""
    yield
    current.disable()
    current._is_unsaved = False
