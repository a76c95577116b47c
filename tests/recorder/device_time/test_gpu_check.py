"""The check for machines with a GPU: its page, its status, and the parts that run without one."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import ticktree
from support.recorder.simulated_torch import Cuda, forget_devices, torch_with
from ticktree.recorder.device_time import cuda as cuda_clock

PRODUCT_NS = 2_700_000
RANGE_NS = 3_000
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def gpu():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("gpu")
    sys.modules.pop("gpu")


def with_values(gpu, monkeypatch, value):
    parts = [replace(part, measure=lambda _, lines=part.lines: [value] * len(lines)) for part in gpu.PARTS]
    monkeypatch.setattr(gpu, "PARTS", parts)
    monkeypatch.setattr(gpu, "torch_with_gpu", lambda: FakeTorch())
    monkeypatch.setattr(gpu, "run", without_nvidia_smi)


class FakeTorch:
    __version__ = "2"

    class cuda:  # noqa: N801
        get_device_name = staticmethod(lambda: "H100")


def without_nvidia_smi(command, **_):
    raise FileNotFoundError(command[0])


def rows(text: str) -> list[str]:
    return [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]


def test_the_committed_page_has_one_row_per_figure(gpu, tmp_path) -> None:
    page_copy = tmp_path / "blank.md"
    assert gpu.main(["--blank", "-o", str(page_copy)]) == 0
    committed = gpu.PAGE.read_text(encoding="utf-8")
    assert rows(committed) == rows(page_copy.read_text(encoding="utf-8"))
    assert gpu.NOT_MEASURED not in committed or committed == page_copy.read_text(encoding="utf-8")


def test_without_a_gpu_nothing_is_measured_and_no_page_is_written(gpu, monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setattr(gpu, "torch_with_gpu", lambda: None)
    assert gpu.main(["-o", str(tmp_path / "page.md")]) == 2
    assert not list(tmp_path.iterdir())
    assert "nothing was measured" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "status", "verdict"), [(0.0, 0, "met"), (1000.0, 1, "missed")])
def test_the_status_tells_whether_all_targets_are_met(
    gpu, monkeypatch, tmp_path, value, status, verdict
) -> None:
    with_values(gpu, monkeypatch, value)
    page = tmp_path / "page.md"
    assert gpu.main(["-o", str(page)]) == status
    text = page.read_text(encoding="utf-8")
    assert "H100, driver unknown, torch 2" in text
    assert text.count(f"| {verdict} |") == sum(
        line.target is not None for part in gpu.PARTS for line in part.lines
    )
    assert gpu.NOT_MEASURED not in text


def test_a_part_that_fails_has_a_reason_and_the_others_are_measured(gpu, monkeypatch, tmp_path) -> None:
    with_values(gpu, monkeypatch, 0.0)

    def fail(_):
        raise RuntimeError("no such device")

    monkeypatch.setattr(gpu, "PARTS", [replace(gpu.PARTS[0], measure=fail), *gpu.PARTS[1:]])
    page = tmp_path / "page.md"
    assert gpu.main(["-o", str(page)]) == 1
    assert page.read_text(encoding="utf-8").count("failed: RuntimeError: no such device") == len(
        gpu.PARTS[0].lines
    )


def test_one_missed_target_fails_the_status(gpu, monkeypatch, tmp_path) -> None:
    with_values(gpu, monkeypatch, 0.0)
    missed = replace(gpu.PARTS[0], measure=lambda _: (0.0, 1.5))
    monkeypatch.setattr(gpu, "PARTS", [missed, *gpu.PARTS[1:]])
    page = tmp_path / "page.md"
    assert gpu.main(["-o", str(page)]) == 1
    assert page.read_text(encoding="utf-8").count("| missed |") == 1


def test_a_part_that_cannot_run_here_is_no_failure(gpu, monkeypatch, tmp_path) -> None:
    with_values(gpu, monkeypatch, 0.0)
    ranks = replace(gpu.PARTS[5], measure=lambda _: "one device")
    monkeypatch.setattr(gpu, "PARTS", [*gpu.PARTS[:5], ranks, gpu.PARTS[6]])
    page = tmp_path / "page.md"
    assert gpu.main(["-o", str(page)]) == 0
    assert "| absent | 0 ranks | one device |" in page.read_text(encoding="utf-8")


def test_the_page_names_the_driver(gpu, monkeypatch) -> None:
    monkeypatch.setattr(gpu, "run", lambda command: "570.86.15\n570.86.15\n")
    assert ", driver 570.86.15, " in gpu.about(FakeTorch())


class Block:
    """Memory of the simulated device, until nothing refers to it."""

    def __init__(self, cuda, size, pinned=False):
        self.cuda, self.size, self.pinned = cuda, size, pinned
        cuda.use(size)

    def __del__(self):
        self.cuda.use(-self.size)

    def fill_(self, value):
        return self

    def copy_(self, source, non_blocking):
        assert non_blocking
        self.cuda.kernel(source.size // (25 if source.pinned else 5))
        if not source.pinned:
            self.cuda.synchronize()


class CudaWithMemory(Cuda):
    """The simulated device, with an allocator that keeps its peak."""

    used = peak = 0

    def use(self, size):
        self.used += size
        self.peak = max(self.peak, self.used)

    def device_count(self):
        return 1

    def memory_allocated(self, device=0):
        return self.used

    def max_memory_allocated(self, device=0):
        return self.peak

    def reset_peak_memory_stats(self, device=0):
        self.peak = self.used


@pytest.fixture
def simulated_torch(gpu, monkeypatch):
    """A torch on a virtual clock, which is the clock of the benchmark and its recorders."""
    recorders = []
    cuda = CudaWithMemory(None)
    torch = torch_with(cuda)

    def recorder():
        recorders.append(ticktree.Recorder(virtual_clock=True))
        if len(recorders) > 1:
            recorders[-1].advance(cuda.now)
        cuda.recorder = recorders[-1]
        return recorders[-1]

    @contextmanager
    def record_function(name):
        cuda.host(RANGE_NS)
        yield

    torch.uint8 = "uint8"
    torch.randn = torch.empty_like = lambda *_, **__: None
    torch.mm = lambda *_, out: cuda.kernel(PRODUCT_NS)
    torch.empty = lambda size, **_: Block(cuda, size)
    torch.ones = lambda size, dtype, pin_memory: Block(cuda, size, pin_memory)
    torch.profiler = SimpleNamespace(record_function=record_function)
    monkeypatch.setitem(sys.modules, "torch", torch)  # before a recorder, which looks for it
    clock = SimpleNamespace(perf_counter=lambda: cuda.now / 1e9, perf_counter_ns=lambda: cuda.now)
    monkeypatch.setattr(gpu, "time", clock)
    monkeypatch.setattr(gpu, "ticktree", SimpleNamespace(Recorder=recorder))
    recorder()
    yield torch
    for recorder in recorders:
        recorder.disable()
    forget_devices()


def test_device_rows_equal_waited_times_alone_and_nested(gpu, simulated_torch) -> None:
    alone, nested = gpu.attribution(simulated_torch)
    assert alone == pytest.approx(0, abs=0.01)
    assert nested == pytest.approx(0, abs=0.01)


def test_a_device_row_that_misses_work_fails(gpu, simulated_torch, monkeypatch) -> None:
    events = simulated_torch.cuda.Event
    elapsed_ms = events.elapsed_time
    monkeypatch.setattr(events, "elapsed_time", lambda self, end: 0.9 * elapsed_ms(self, end))
    assert gpu.attribution(simulated_torch) == (pytest.approx(-10, abs=0.01), pytest.approx(-10, abs=0.01))


def test_nested_rows_are_measured_without_a_wait_inside(gpu, simulated_torch, monkeypatch) -> None:
    monkeypatch.setattr(gpu, "WARM_S", 0)
    gpu.attribution(simulated_torch)
    assert (
        simulated_torch.cuda.waits == gpu.ROUNDS * 5
    )  # each round: two around each of two bursts, one after all


def test_device_calls_without_a_time_fail_the_part(gpu, simulated_torch, monkeypatch) -> None:
    monkeypatch.setattr(cuda_clock.EventPool, "take", lambda _: None)
    part = replace(gpu.PARTS[0])
    assert [line.reason for line in part.measured(simulated_torch)] == [
        "failed: RuntimeError: alone: device time of 0 of 50 calls"
    ] * 2


def test_the_cost_of_a_device_section_is_its_two_events(gpu, simulated_torch) -> None:
    simulated_torch.cuda.record_ns = 1000
    assert gpu.costs(simulated_torch) == (2000, 2000 / RANGE_NS, 1, 0)


def test_the_memory_of_a_section_is_torchs_peak(gpu, simulated_torch) -> None:
    assert gpu.memory(simulated_torch) == (0,)


def test_a_section_without_memory_of_a_device_fails_the_part(gpu, simulated_torch, monkeypatch) -> None:
    monkeypatch.setattr(simulated_torch.cuda, "initialized", False)
    (result,) = gpu.PARTS[2].measured(simulated_torch)
    assert result.reason == "failed: RuntimeError: the section has no memory of a device"


def test_the_rate_of_pageable_memory_comes_first(gpu, simulated_torch) -> None:
    assert gpu.copies(simulated_torch) == (pytest.approx(5, rel=0.01), pytest.approx(25, rel=0.01))


def test_ranks_need_two_devices(gpu, simulated_torch) -> None:
    assert gpu.ranks(simulated_torch) == "one device"


def test_without_pynvml_the_remedy_is_named(gpu, monkeypatch) -> None:
    monkeypatch.setattr(gpu, "find_spec", lambda _: None)
    assert "ticktree[nvidia]" in gpu.counters(None)


def test_the_error_of_a_program_is_one_cell(gpu) -> None:
    text = gpu.in_words(
        RuntimeError("CUDA error: a | b\nCUDA kernel errors might be reported later" + 300 * ".")
    )
    assert text.startswith("RuntimeError: CUDA error: a / b CUDA kernel")
    assert len(text) == 200


def test_the_error_of_a_rank_of_torchrun_is_named(gpu) -> None:
    output = "Traceback\nValueError: no peer\n====\ntorch.ChildFailedError: \n====\n"
    assert gpu.cause(output) == "ValueError: no peer"
    assert gpu.cause("killed\n====\n") == "killed"
    assert gpu.cause("") == ""


FAKE_PYNVML = """
NVML_CLOCK_SM = NVML_TEMPERATURE_GPU = 0
class Readings:
    gpu, used, free = 96, 3 << 30, 5 << 30
nvmlInit = lambda: None
nvmlDeviceGetCount = lambda: 1
nvmlDeviceGetHandleByIndex = lambda at: at
nvmlDeviceGetUtilizationRates = nvmlDeviceGetMemoryInfo = lambda handle: Readings
"""
FAKE_TORCH = """
import time
class Tensor:
    def __matmul__(self, other):
        time.sleep(0.01)
        return self
    def clamp_(self, low, high):
        return self
def randn(*shape, device):
    return Tensor()
class cuda:
    synchronize = staticmethod(lambda: None)
"""


@pytest.mark.slow
def test_gauges_of_a_busy_gpu_equal_its_drivers_readings(gpu, monkeypatch, tmp_path) -> None:
    for name, source in (("pynvml", FAKE_PYNVML), ("torch", FAKE_TORCH)):
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    monkeypatch.setattr(gpu, "find_spec", lambda _: True)
    assert gpu.counters(None, seconds=4) == [pytest.approx(0), pytest.approx(0)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_parts_that_need_no_gpu_run_on_a_cpu(gpu, monkeypatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(gpu, "PAIRS", 1)
    assert all(value > 0 for value in gpu.vector(torch, device="cpu", environments=16, ticks=100))
    assert gpu.ranks(torch, backend="gloo") == (0.0,)
