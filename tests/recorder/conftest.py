from __future__ import annotations

import pytest

import ticktree


@pytest.fixture
def recorder():
    """A recorder on a virtual clock; whatever a test did to it, its accounts must add up at the end."""
    recorder = ticktree.Recorder(virtual_clock=True)
    yield recorder
    recorder.snapshot().check()
    recorder.disable()
    recorder.snapshot().check()
