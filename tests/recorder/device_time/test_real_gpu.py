"""Device time on a real GPU: scripts/gpu_check.sh runs these tests if there is one."""

from __future__ import annotations

import time

import pytest

from support.recorder.queries import losses, node

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.fixture
def product():
    left, right = (torch.randn(4096, 4096, device="cuda") for _ in range(2))
    torch.mm(left, right)
    torch.cuda.synchronize()
    return lambda: torch.mm(left, right)


@pytest.fixture
def recorder():
    import ticktree

    recorder = ticktree.Recorder()
    yield recorder
    recorder.snapshot().check()
    recorder.disable()


def test_an_asynchronous_product_is_attributed_within_1_percent(recorder, product):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    section = recorder.section("product", device="cuda")
    start = time.perf_counter()
    while time.perf_counter() - start < 1:  # an idle device is slow at first
        with section:
            product()
        torch.cuda.synchronize()
    recorder.snapshot()
    recorder.reset()
    expected_ns = 0.0
    for _ in range(5):  # in turns: a device that grows warm slows both down
        start.record()
        for _ in range(20):
            product()
        end.record()
        torch.cuda.synchronize()
        expected_ns += start.elapsed_time(end) * 1e6
        for _ in range(20):
            with section:
                product()
        torch.cuda.synchronize()
    host = node(recorder, "product")
    (device,) = host.on_devices
    assert device.count == host.count == 100
    assert device.total_ns == pytest.approx(expected_ns, rel=0.01)
    assert host.stats.p50_ns < device.stats.p50_ns / 5


def test_a_graph_that_is_captured_around_a_section_replays(recorder, product):
    with recorder.section("warm", device="cuda"):
        product()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), recorder.section("captured", device="cuda"):
        product()
    graph.replay()
    torch.cuda.synchronize()
    assert losses(recorder) == {"device_calls_captured": 1}


def test_sections_on_a_stream_of_their_own_are_measured(recorder, product):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), recorder.section("aside", device="cuda"):
        product()
    torch.cuda.synchronize()
    assert node(recorder, "aside").on_devices[0].total_ns > 0
