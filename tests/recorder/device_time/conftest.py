from __future__ import annotations

import sys

import pytest

from support.recorder.simulated_torch import Cuda, torch_with
from ticktree.recorder.device_time import cuda as cuda_clock


@pytest.fixture
def simulated(recorder, monkeypatch):
    """A torch of two devices, on the recorder's clock; nothing is left of it afterwards."""
    cuda = Cuda(recorder, devices=2)
    monkeypatch.setitem(sys.modules, "torch", torch_with(cuda))
    yield cuda
    cuda_clock._lanes.clear()
    cuda_clock.capturing.open = 0
    cuda_clock._pools.clear()
    cuda_clock._undo.clear()
