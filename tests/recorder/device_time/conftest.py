from __future__ import annotations

import sys

import pytest

from support.recorder.simulated_torch import Cuda, forget_devices, torch_with


@pytest.fixture
def simulated(recorder, monkeypatch):
    """A torch of two devices, on the recorder's clock; it is removed afterwards."""
    cuda = Cuda(recorder, devices=2)
    monkeypatch.setitem(sys.modules, "torch", torch_with(cuda))
    yield cuda
    forget_devices()
