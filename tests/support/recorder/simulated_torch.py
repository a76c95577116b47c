"""A stand-in for torch with CUDA devices, on a recorder's virtual clock: work is queued on streams and done later.

Whatever the real one would punish is an error here: an event that is asked for while a graph is captured breaks the
capture, one that is recorded on another device's stream, or asked for its time before it is reached, raises.
"""

from __future__ import annotations

import types

from ticktree.recorder.device_time import cuda as cuda_clock


class CudaError(RuntimeError):
    """What torch raises."""


class Stream:
    def __init__(self, cuda, device_index, number):
        self._cuda = cuda
        self.device_index = device_index
        self.cuda_stream = number
        self.busy_until = 0
        self.is_capturing = False

    def run(self, ns):
        """Hands over a kernel that takes so long."""
        if not self.is_capturing:
            self.busy_until = max(self._cuda.now, self.busy_until) + ns

    def wait_stream(self, other):
        self.busy_until = max(self.busy_until, other.busy_until)


class Event:
    """Made, as the real one is, when it is first recorded."""

    cuda = None

    def __init__(self, enable_timing=False):
        assert enable_timing
        self._device = None
        self.reached_at = None

    def record(self, stream=None):
        cuda = self.cuda
        stream = stream or cuda.current_stream()
        cuda.host(cuda.record_ns)
        if self._device is None:
            cuda.host(cuda.make_ns)
            cuda.events_made += 1
            cuda.refuse_while_capturing()
            self._device = stream.device_index
        if self._device != stream.device_index:
            raise CudaError("an event of another device")
        if stream.is_capturing:
            cuda.broken = True
            raise CudaError("recorded into a graph")
        self.reached_at = max(cuda.now, stream.busy_until)
        cuda.recorded += 1

    def query(self):
        self.cuda.asked += 1
        self.cuda.refuse_while_capturing()
        return self.cuda.now >= self.reached_at

    def elapsed_time(self, end):
        if not (self.query() and end.query()):
            raise CudaError("not reached yet")
        return (end.reached_at - self.reached_at) / 1e6


class Cuda:
    """`torch.cuda`, and the host's side of it."""

    def __init__(self, recorder, devices=1):
        self.recorder = recorder
        self.initialized = True
        self.streams = [[Stream(self, index, 0)] for index in range(devices)]
        self.device = 0
        self.current = [streams[0] for streams in self.streams]
        self.record_ns = self.make_ns = 0
        self.events_made = self.recorded = self.asked = self.waits = self.captures = 0
        self.broken = False
        self.Event = type("Event", (Event,), {"cuda": self})
        self.CUDAGraph = type("CUDAGraph", (Graph,), {"cuda": self})

    @property
    def now(self):
        return self.recorder.ticks

    def host(self, ns):
        if ns:
            self.recorder.advance(ns)

    def refuse_while_capturing(self):
        if self.captures:
            self.broken = True
            raise CudaError("not permitted while a graph is captured")

    def kernel(self, ns, launch_ns=2_000):
        """What a program does: it takes the device a while, and the host a moment."""
        self.current_stream().run(ns)
        self.host(launch_ns)

    def new_stream(self, device=0):
        stream = Stream(self, device, len(self.streams[device]))
        self.streams[device].append(stream)
        return stream

    def is_initialized(self):
        return self.initialized

    def current_stream(self, device=None):
        return self.current[self.device if device is None else device]

    def set_stream(self, stream):
        self.device = stream.device_index
        self.current[stream.device_index] = stream

    def current_device(self):
        return self.device

    def is_current_stream_capturing(self):
        return self.current_stream().is_capturing

    def synchronize(self, device=None):
        self.refuse_while_capturing()
        self.waits += 1
        busy = max(stream.busy_until for stream in self.streams[self.device if device is None else device])
        self.host(max(0, busy - self.now))

    # what recorder/memory_sampling asks
    def device_count(self):
        return 0


class Graph:
    cuda = None

    def capture_begin(self):
        if self.cuda.captures:
            raise CudaError("one at a time")
        self._stream = self.cuda.current_stream()
        self._stream.is_capturing = True
        self.cuda.captures += 1

    def capture_end(self):
        self._stream.is_capturing = False
        self.cuda.captures -= 1
        if self.cuda.broken:
            raise CudaError("the capture is broken")


def torch_with(cuda):
    """The module that a program would import."""
    torch = types.ModuleType("torch")
    torch.cuda = cuda
    torch._C = types.SimpleNamespace(
        _cuda_getCurrentRawStream=lambda device: cuda.current_stream(device).cuda_stream
    )
    torch.version = types.SimpleNamespace(cuda="12.8", hip=None)
    torch.backends = types.SimpleNamespace(
        mps=types.SimpleNamespace(is_available=lambda: False, is_built=lambda: False)
    )
    return torch


def forget_devices():
    """Leave nothing of a simulated torch for the next."""
    cuda_clock._lanes.clear()
    cuda_clock.capturing.open = 0
    cuda_clock._pools.clear()
    cuda_clock._streams.clear()
    cuda_clock._undo.clear()
