# ruff: noqa: N802, N815 - the names are the library's
"""Readings of GPUs, with a fake driver."""

from __future__ import annotations

import types

from test_watch import Scripted, at

from ticktree.machine.gpus import GpuReader
from ticktree.profile import Profile
from ticktree.profile.machine import gpus, is_machine_gauge, program_gauges
from ticktree.run.observations import read_gauges
from ticktree.supervisor.watch import Watch


class Driver:
    """A fake `pynvml`, with GPUs as busy as the test requests."""

    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0
    nvmlClocksThrottleReasonSwPowerCap = 4
    nvmlClocksThrottleReasonHwSlowdown = 8
    nvmlClocksThrottleReasonHwThermalSlowdown = 64

    def __init__(self, count=1):
        self.count = count
        self.reasons = 1  # it idles: no slow-down
        self.inits = 0

    def nvmlInit(self):
        self.inits += 1

    def nvmlDeviceGetCount(self):
        return self.count

    def nvmlDeviceGetHandleByIndex(self, at):
        return at

    def nvmlDeviceGetUtilizationRates(self, handle):
        return types.SimpleNamespace(gpu=73)

    def nvmlDeviceGetMemoryInfo(self, handle):
        return types.SimpleNamespace(used=3 << 30, free=5 << 30)

    def nvmlDeviceGetClockInfo(self, handle, which):
        return 1410

    def nvmlDeviceGetPowerUsage(self, handle):
        raise RuntimeError("not supported")

    def nvmlDeviceGetTemperature(self, handle, which):
        return 61

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):
        return self.reasons


def test_the_drivers_values_become_readings_without_missing_ones():
    assert GpuReader(Driver(2)).read() == {
        f"machine/gpu{at}/{name}": value
        for at in range(2)
        for name, value in (
            ("used", 0.73),
            ("memory", float(3 << 30)),
            ("memory_free", float(5 << 30)),
            ("frequency", 1410.0),
            ("temperature", 61.0),
            ("slowed", 0.0),
        )
    }


def test_heat_and_power_count_as_slowdown_and_idling_does_not():
    driver = Driver()
    readings = GpuReader(driver)
    slowed = []
    for reasons in (0, 1, 4, 8, 64, 65, 2):
        driver.reasons = reasons
        slowed.append(readings.read()["machine/gpu0/slowed"])
    assert slowed == [0, 0, 1, 1, 1, 1, 0]
    assert driver.inits == 1


def test_without_a_driver_there_are_no_readings_after_one_attempt():
    class NoDriver(Driver):
        def nvmlInit(self):
            super().nvmlInit()
            raise RuntimeError("driver not loaded")

    driver = NoDriver()
    readings = GpuReader(driver)
    assert readings.read() == readings.read() == {}
    assert driver.inits == 1


def test_a_watched_run_saves_them_as_readings_of_the_machine(tmp_path):
    scripted = Scripted(at(0, 0), at(1, 1), at(2, 2), end=at(3, 3))
    watch = Watch(tmp_path, "50-7-1", 0, scripted, GpuReader(Driver()))
    for _ in range(3):
        watch.sample()
    watch.end(0)
    gauges = read_gauges(tmp_path)
    assert gauges["machine/gpu0/used"].count >= 2
    profile = Profile(gauges=gauges)
    profile.check()
    assert program_gauges(profile.gauges) == {}
    assert gpus(profile.gauges)[0]["temperature"].last == 61


def test_only_gauges_of_gpus_count_as_readings_of_gpus():
    assert is_machine_gauge("machine/gpu12/power")
    for name in ("machine/gpu/power", "machine/gpu0/mood", "gpu0/power", "machine/gpu0/power/x"):
        assert not is_machine_gauge(name)
