"""NVIDIA GPUs as their driver reports them, read by the supervisor: through `nvidia-ml-py`, if installed.

It wakes no device and makes no context on one: the driver counts all the time, for all programs together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from ticktree.profile.machine import gpu_gauge

# Of a machine with more, only the first are read.
MOST = 16

# Reasons to report why a GPU runs slower than it could: not that it idles, or keeps a set limit.
_SLOWED = (
    "nvmlClocksThrottleReasonSwPowerCap",
    "nvmlClocksThrottleReasonHwSlowdown",
    "nvmlClocksThrottleReasonSwThermalSlowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
)


class Gpus:
    """Reads counters of the machine's GPUs; of none, where they cannot be read."""

    def __init__(self, library: Any = None) -> None:
        self._library = library
        self._handles: dict[int, Any] | None = None
        self._slowed = 0

    def read(self) -> dict[str, float]:
        """Return what the driver says now, by the gauges' names; what it does not say is left out."""
        if self._handles is None:
            self._handles = self._open()
        return dict(self._readings())

    def _open(self) -> dict[int, Any]:
        with suppress(Exception):  # no library, no driver, no permission: then there are none
            if self._library is None:
                self._library = import_module("pynvml")
            self._library.nvmlInit()
            self._slowed = sum(getattr(self._library, name, 0) for name in _SLOWED)
            count = min(MOST, self._library.nvmlDeviceGetCount())
            return {at: self._library.nvmlDeviceGetHandleByIndex(at) for at in range(count)}
        return {}

    def _readings(self) -> Iterator[tuple[str, float]]:
        for at, handle in (self._handles or {}).items():
            for what, ask in _QUERIES.items():
                with suppress(Exception):  # not every GPU tells everything, and it may be gone
                    yield gpu_gauge(at, what), ask(self._library, handle)
            with suppress(Exception):
                reasons = self._library.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
                yield gpu_gauge(at, "slowed"), float(bool(reasons & self._slowed))


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
