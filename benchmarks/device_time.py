"""What device sections report and cost on a real GPU; without one it prints only that.

    python benchmarks/device_time.py [-o FILE]

Prints a matrix product's device time by its section, and of the same work measured by waiting for the device, and what
a device section costs the host, compared with `torch.profiler.record_function` and a plain section.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ticktree

AT_MOST = 0.03
SIZE = 4096
CALLS = 50
ROUNDS = 7
WARM_S = 1.0
EMPTY_CALLS = 2000


def main() -> int:
    """Measure, print, and return the exit status: 1 where the device time is off by more than 3%."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", type=Path, dest="file", help="write the figures there, as JSON")
    options = parser.parse_args()
    torch = _torch_with_gpu()
    if torch is None:
        print("no CUDA device here (or no torch built for one): nothing was measured")
        return 0
    figures = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        **_attribution(torch),
        **_costs(torch),
    }
    for name, value in figures.items():
        print(f"{name:42} {value:,.4g}" if isinstance(value, float) else f"{name:42} {value}")
    if options.file is not None:
        options.file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return int(abs(float(figures["device_over_synchronised"]) - 1) > AT_MOST)


def _torch_with_gpu() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def _attribution(torch: Any) -> dict[str, Any]:
    """Return what a matrix product takes by its section's device row, and by waiting for it."""
    left, right = (torch.randn(SIZE, SIZE, device="cuda") for _ in range(2))
    out = torch.empty_like(left)

    def product() -> None:
        torch.mm(left, right, out=out)

    recorder = ticktree.Recorder()
    section = recorder.section("product", device="cuda")

    def in_section() -> None:
        with section:
            product()

    began = time.perf_counter()
    while time.perf_counter() - began < WARM_S:  # the device's clock, the pool, and what torch makes at first
        _synchronised(torch, in_section)
    recorder.snapshot()
    recorder.reset()
    waited, rows = [], []
    before = 0
    for _ in range(ROUNDS):  # in turns: a device that grows warm slows both down
        waited.append(_synchronised(torch, product))
        _synchronised(torch, in_section)
        host = recorder.snapshot().root.children["product"]
        (device,) = host.on_devices
        rows.append((device.total_ns - before) / CALLS)
        before = device.total_ns
    recorder.disable()
    return {
        "calls": device.count,
        "device_row_us": statistics.median(rows) / 1e3,
        "synchronised_us": statistics.median(waited) / 1e3,
        "device_over_synchronised": statistics.median(
            row / alone for row, alone in zip(rows, waited, strict=True)
        ),
        "host_row_p50_us": (host.stats.p50_ns or 0) / 1e3,
    }


def _synchronised(torch: Any, work: Callable[[], None]) -> float:
    """Return nanoseconds a call of so many, from an idle device to an idle device."""
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for _ in range(CALLS):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - began) / CALLS


def _costs(torch: Any) -> dict[str, Any]:
    """Return what the host spends on a section around nothing, in nanoseconds."""
    recorder = ticktree.Recorder()
    measured, plain = recorder.section("measured", device="cuda"), recorder.section("plain")

    def of(make: Callable[[], Any]) -> float:
        rounds = []
        for _ in range(ROUNDS):
            torch.cuda.synchronize()
            began = time.perf_counter_ns()
            for _ in range(EMPTY_CALLS):
                with make():
                    pass
            rounds.append((time.perf_counter_ns() - began) / EMPTY_CALLS)
        return statistics.median(rounds[1:])

    costs = {
        "device_section_ns": of(lambda: measured),
        "record_function_ns": of(lambda: torch.profiler.record_function("measured")),
        "plain_section_ns": of(lambda: plain),
    }
    recorder.disable()
    return {
        **costs,
        "device_section_over_record_function": costs["device_section_ns"] / costs["record_function_ns"],
    }


if __name__ == "__main__":
    raise SystemExit(main())
