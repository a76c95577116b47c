"""Readings of NVIDIA GPUs from their driver, by the supervisor, with `nvidia-ml-py` if it is installed.

They do not wake a device or create a context on one: the driver counts all the time, for all programs together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from ticktree.profile.machine import gpu_gauge

# Further GPUs of a machine are not read.
MAX_GPUS = 16

# Reasons why a GPU runs slower than it could, without idling and limits set by the user.
_SLOWDOWN_REASONS = (
    "nvmlClocksThrottleReasonSwPowerCap",
    "nvmlClocksThrottleReasonHwSlowdown",
    "nvmlClocksThrottleReasonSwThermalSlowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
)


class GpuReader:
    """Reads counters of the machine's GPUs; nothing if they cannot be read."""

    def __init__(self, library: Any = None) -> None:
        self._library = library
        self._handles: dict[int, Any] | None = None
        self._slowdown_mask = 0

    def read(self) -> dict[str, float]:
        """Return the driver's current readings by gauge name, without those that it does not report."""
        if self._handles is None:
            self._handles = self._open()
        return dict(self._readings())

    def _open(self) -> dict[int, Any]:
        with suppress(Exception):  # no library, no driver, no permission: then there are none
            if self._library is None:
                self._library = import_module("pynvml")
            self._library.nvmlInit()
            self._slowdown_mask = sum(getattr(self._library, name, 0) for name in _SLOWDOWN_REASONS)
            count = min(MAX_GPUS, self._library.nvmlDeviceGetCount())
            return {index: self._library.nvmlDeviceGetHandleByIndex(index) for index in range(count)}
        return {}

    def _readings(self) -> Iterator[tuple[str, float]]:
        for index, handle in (self._handles or {}).items():
            for name, query in _QUERIES.items():
                with suppress(Exception):  # not every GPU reports everything, and it may be gone
                    yield gpu_gauge(index, name), query(self._library, handle)
            with suppress(Exception):
                reasons = self._library.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
                yield gpu_gauge(index, "slowed"), float(bool(reasons & self._slowdown_mask))


_QUERIES: dict[str, Callable[[Any, Any], float]] = {
    "used": lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
    "memory": lambda nvml, handle: float(nvml.nvmlDeviceGetMemoryInfo(handle).used),
    "memory_free": lambda nvml, handle: float(nvml.nvmlDeviceGetMemoryInfo(handle).free),
    "frequency": lambda nvml, handle: float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
    "power": lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    "temperature": lambda nvml, handle: float(
        nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
    ),
}
