"""Devices whose time requires a wait: it is measured only on request."""

from __future__ import annotations

import sys
import types

import pytest

from support.recorder.queries import node

NS = 1_000_000


class Mps:
    """`torch.mps`, whose events only a wait for the whole queue can read."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.busy_until = 0
        self.waits = 0
        mps = self

        class Event:
            def __init__(self, enable_timing=False):
                assert enable_timing

            def record(self):
                self.at = max(mps.recorder.ticks, mps.busy_until)

            def synchronize(self):
                mps.synchronize()

            def elapsed_time(self, end):
                mps.synchronize()
                return (end.at - self.at) / 1e6

        self.event = types.SimpleNamespace(Event=Event)

    def run(self, ns):
        self.busy_until = max(self.recorder.ticks, self.busy_until) + ns

    def synchronize(self):
        self.waits += 1
        self.recorder.advance(max(0, self.busy_until - self.recorder.ticks))


@pytest.fixture
def mps(recorder, monkeypatch):
    mps = Mps(recorder)
    backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: True))
    torch = types.SimpleNamespace(mps=mps, backends=backends)
    monkeypatch.setitem(sys.modules, "torch", torch)
    return mps


@pytest.fixture
def jax(recorder, monkeypatch):
    def block_until_ready(value):
        recorder.advance(value)
        return value

    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(block_until_ready=block_until_ready))


@pytest.fixture
def waiting(monkeypatch):
    monkeypatch.setenv("TICKTREE_DEVICE_SYNC", "1")


WHY = "it has no clock that can be read without waiting for the device"


def test_mps_is_not_waited_for_without_a_request(recorder, mps):
    with recorder.section("forward", device="mps"):
        mps.run(3 * NS)
    assert mps.waits == 0
    assert node(recorder, "forward").device == WHY
    assert node(recorder, "forward").total_ns == 0


def test_mps_is_measured_if_the_run_waits(recorder, mps, waiting):
    mps.run(50 * NS)
    with recorder.section("forward", device="mps"):
        mps.run(3 * NS)
    forward = node(recorder, "forward")
    assert forward.total_ns == 3 * NS
    assert forward.children["mps@device"].total_ns == 3 * NS


def test_jax_is_not_waited_for_without_a_request(recorder, jax):
    with recorder.section("step", device="jax") as section:
        assert section.results(3 * NS) == 3 * NS
    assert node(recorder, "step").device == WHY
    assert node(recorder, "step").total_ns == 0


def test_jax_is_measured_until_its_results_are_ready_if_the_run_waits(recorder, jax, waiting):
    with recorder.section("step", device="jax") as section:
        assert section.results(3 * NS) == 3 * NS
    step = node(recorder, "step")
    assert step.total_ns == 3 * NS  # the host waited in it
    assert step.children["jax@device"].count == 1
    assert step.device is None


def test_jax_has_no_time_without_named_results(recorder, jax, waiting):
    with recorder.section("step", device="jax"):
        pass
    assert node(recorder, "step").device == WHY
    assert node(recorder, "step").children == {}


def test_a_plain_section_accepts_results(recorder):
    with recorder.section("step") as section:
        assert section.results("y") == "y"
