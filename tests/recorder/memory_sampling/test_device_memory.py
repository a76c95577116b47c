"""Memory of devices, with a fake `torch.cuda`: the outer peak is the maximum of the inner ones."""

from __future__ import annotations

import contextvars
import sys
import types
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ticktree
from support.recorder.queries import node
from ticktree.recorder import _native as native
from ticktree.recorder.memory_sampling import memory_of, watch


class Cuda:
    """A fake `torch.cuda` whose memory the test sets."""

    def __init__(self, devices: int = 1) -> None:
        self.initialized = True
        self.used = [0] * devices
        self.peaks = [0] * devices
        self.resets = 0

    def use(self, size: int, device: int = 0) -> None:
        self.used[device] = size
        self.peaks[device] = max(self.peaks[device], size)

    def is_initialized(self) -> bool:
        return self.initialized

    def device_count(self) -> int:
        return len(self.used)

    def memory_allocated(self, device: int) -> int:
        return self.used[device]

    def max_memory_allocated(self, device: int) -> int:
        return self.peaks[device]

    def reset_peak_memory_stats(self, device: int) -> None:
        self.resets += 1
        self.peaks[device] = self.used[device]


@pytest.fixture
def cuda(recorder):
    """A device that the recorder reads; set after the hooks of the recorder, which search for torch's."""
    cuda = Cuda()
    native.read_devices_by(partial(memory_of, cuda))
    yield cuda
    native.read_devices_by(None)


def device_memory(recorder, path):
    memory = node(recorder, path).device_memory
    return (memory.peak_bytes, memory.growth_bytes, memory.change_bytes, memory.samples)


def test_a_peak_inside_a_call_counts_even_if_memory_is_freed_before_its_end(recorder, cuda):
    cuda.use(100)
    with recorder.section("x", memory=True):
        cuda.use(700)
        cuda.use(150)
    assert device_memory(recorder, "x") == (700, 600, 50, 1)
    memory = node(recorder, "x").device_memory
    assert memory.is_exact
    assert memory.devices == {"cuda:0"}


def test_an_inner_section_does_not_discard_the_outer_peak(recorder, cuda):
    with recorder.section("outer", memory=True):
        cuda.use(900)
        cuda.use(10)
        with recorder.section("inner", memory=True):
            cuda.use(50)
            cuda.use(20)
        cuda.use(30)
    assert device_memory(recorder, "outer") == (900, 900, 30, 1)
    assert device_memory(recorder, "outer/inner") == (50, 40, 10, 1)


def test_a_peak_of_an_inner_section_counts_for_the_outer_one(recorder, cuda):
    with recorder.section("outer", memory=True):
        cuda.use(10)
        with recorder.section("inner", memory=True):
            cuda.use(500)
        cuda.use(0)
    assert device_memory(recorder, "outer") == (500, 500, 0, 1)
    assert device_memory(recorder, "outer/inner")[0] == 500


def test_a_peak_before_a_call_does_not_count(recorder, cuda):
    cuda.use(900)
    cuda.use(5)
    with recorder.section("x", memory=True):
        cuda.use(6)
    assert device_memory(recorder, "x") == (6, 1, 1, 1)


def test_the_largest_call_counts(recorder, cuda):
    for size in (10, 80, 30):
        with recorder.section("x", memory=True):
            cuda.use(size)
            cuda.use(0)
    assert device_memory(recorder, "x") == (80, 80, 0, 3)


def test_stages_ticks_and_decorated_functions_are_measured_if_all_sections_are(recorder, cuda):
    recorder.measure_all()

    @recorder.timed("called")
    def called():
        cuda.use(70)
        cuda.use(0)

    for _ in recorder.loop("loop", range(2)):
        recorder.stage("first")
        cuda.use(40)
        cuda.use(1)
        recorder.stage("second")
        called()
    assert device_memory(recorder, "loop")[0] == 70
    assert device_memory(recorder, "loop/first")[0] == 40
    assert device_memory(recorder, "loop/second")[0] == 70
    assert device_memory(recorder, "loop/second/called") == (70, 69, -2, 2)


def test_earlier_sections_are_measured_but_waits_are_not(recorder, cuda):
    early_section = recorder.section("early")
    recorder.measure_all()
    with early_section:
        cuda.use(5)
    with recorder.section("wait", wait=True):
        cuda.use(9)
    assert device_memory(recorder, "early")[0] == 5
    assert node(recorder, "wait").device_memory is None


def test_memory_is_not_read_without_a_request(recorder, cuda):
    cuda.use(5)
    with recorder.section("x"):
        pass
    assert node(recorder, "x").device_memory is None
    assert not cuda.resets


def test_without_a_device_in_use_there_is_no_device_memory(recorder, cuda):
    cuda.initialized = False
    with recorder.section("asleep", memory=True):
        pass
    cuda.initialized = True
    with recorder.section("unused", memory=True):
        pass
    assert node(recorder, "asleep").device_memory is None
    assert node(recorder, "unused").device_memory is None


def test_a_device_that_is_first_used_inside_a_call_held_nothing_before(recorder, cuda):
    cuda.initialized = False
    with recorder.section("outer", memory=True), recorder.section("x", memory=True):
        cuda.initialized = True
        cuda.use(300)
        cuda.use(200)
    assert device_memory(recorder, "outer/x") == (300, 300, 200, 1)
    assert device_memory(recorder, "outer") == (300, 300, 200, 1)


def test_the_device_with_the_largest_peak_is_reported(recorder):
    cuda_devices = Cuda(devices=3)
    native.read_devices_by(partial(memory_of, cuda_devices))
    try:
        with recorder.section("x", memory=True):
            cuda_devices.use(300, device=0)
            cuda_devices.use(700, device=2)
            cuda_devices.use(100, device=0)
    finally:
        native.read_devices_by(None)
    assert device_memory(recorder, "x") == (700, 700, 800, 1)
    assert node(recorder, "x").device_memory.devices == {"cuda:0", "cuda:2"}


def test_reset_restarts_open_calls(recorder, cuda):
    with recorder.section("x", memory=True):
        cuda.use(800)
        with recorder.section("y", memory=True):
            cuda.use(3)
        recorder.reset()
        cuda.use(9)
        with recorder.section("y"):
            pass
    assert device_memory(recorder, "x") == (9, 6, 6, 1)
    assert node(recorder, "x/y").device_memory is None


def test_a_call_ended_by_disable_has_no_peak(recorder, cuda):
    with recorder.section("x", memory=True):
        cuda.use(800)
        recorder.advance(1)
        recorder.disable()
        cuda.use(0)
    assert node(recorder, "x").device_memory is None


def test_an_unknown_version_of_the_library_is_not_called_twice(recorder):
    class Odd:
        asked = 0

        def is_initialized(self):
            self.asked += 1
            raise AttributeError("_cuda_memoryStats")

    unknown_cuda = Odd()
    native.read_devices_by(partial(memory_of, unknown_cuda))
    for _ in range(3):
        with recorder.section("x", memory=True):
            pass
    assert unknown_cuda.asked == 1
    assert node(recorder, "x").device_memory is None
    assert node(recorder, "x").count == 3


def test_a_device_that_fails_makes_peaks_of_open_calls_unknown(recorder, cuda):
    with recorder.section("outer", memory=True):
        cuda.use(900)
        cuda.reset_peak_memory_stats = None
        with recorder.section("inner", memory=True):
            pass
    assert node(recorder, "outer").device_memory is None


def test_exceptions_of_signal_handlers_during_a_reading_reach_the_program(recorder):
    class Interrupted(Cuda):
        def memory_allocated(self, device):
            raise KeyboardInterrupt

    interrupted_cuda = Interrupted()
    interrupted_cuda.use(5)
    native.read_devices_by(partial(memory_of, interrupted_cuda))
    try:
        with pytest.raises(KeyboardInterrupt):
            with recorder.section("x", memory=True):
                pass
            for _ in range(1000):  # it comes when the interpreter next looks
                pass
    finally:
        native.read_devices_by(None)


def test_a_library_is_awaited_and_never_imported():
    # Its name is torch's; there may be a real one, which must be left alone.
    torch_before = sys.modules.pop("torch", None)
    end = watch()
    try:
        assert "torch" not in sys.modules
    finally:
        end()
        if torch_before is not None:
            sys.modules["torch"] = torch_before


def test_a_library_that_is_imported_already_is_read(monkeypatch):
    fake_torch = types.ModuleType("torch")
    fake_torch.cuda = Cuda()
    monkeypatch.setitem(sys.modules, "torch", fake_torch)
    other_recorder = ticktree.Recorder()  # which puts the hooks in place, if nothing else records
    end = watch()
    with other_recorder.section("x", memory=True):
        fake_torch.cuda.use(44)
    end()
    other_recorder.disable()
    assert node(other_recorder, "x").device_memory.peak_bytes == 44


# Each step moves the memory of a device, enters the next of a row of sections, or leaves any that is open.
steps = st.lists(
    st.tuples(st.just("use"), st.integers(0, 1000))
    | st.just(("enter", 0))
    | st.tuples(st.just("leave"), st.integers(0, 9)),
    max_size=40,
)


@given(steps)
def test_a_peak_is_the_maximum_while_its_call_was_open(program):
    """Each call has its own context: tasks, threads and generators end calls in any order."""
    recorder = ticktree.Recorder(virtual_clock=True)
    cuda = Cuda()
    native.read_devices_by(partial(memory_of, cuda))
    open_calls = []  # (context, section, the sizes there were while it was open)
    ended_peaks = []
    try:
        for what, number in program:
            if what == "use":
                cuda.use(number)
                for *_, sizes in open_calls:
                    sizes.append(number)
            elif what == "enter":
                section = recorder.section(f"call {len(open_calls) + len(ended_peaks)}", memory=True)
                open_calls.append((contextvars.copy_context(), section, [cuda.used[0]]))
                open_calls[-1][0].run(section.__enter__)
            elif open_calls:
                context, section, sizes = open_calls.pop(number % len(open_calls))
                context.run(section.__exit__, None, None, None)
                ended_peaks.append((section.name, sizes))
        found = {each.name: each.device_memory for _, _, each in recorder.snapshot().root.walk()}
        for name, sizes in ended_peaks:
            memory = found[name]
            if not max(sizes):
                assert memory is None
                continue
            peak = max(sizes)
            assert (memory.peak_bytes, memory.growth_bytes) == (peak, peak - sizes[0])
            assert (memory.change_bytes, memory.is_exact) == (sizes[-1] - sizes[0], True)
    finally:
        native.read_devices_by(None)
        recorder.disable()
