"""All figures of ticktree that need a GPU. A check: the exit status is 1 if a target is missed or a part fails.

    python benchmarks/gpu.py [-o docs/measurements-gpu.md]

Without a GPU it prints only that, and its status is 2. `--blank` writes the page with every figure "not measured".
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ticktree
from harness.report import Absent, Figure, Report, version
from ticktree.loading import load
from ticktree.profile import Node, Profile
from ticktree.profile.machine import gpus

PAGE = Path(__file__).parents[1] / "docs" / "measurements-gpu.md"
SIZE = 4096
CALLS = 50
INNER = 4
AHEAD = 10
ROUNDS = 7
PAIRS = 5
WARM_S = 1.0
EMPTY_CALLS = 2000
COPY_BYTES = 64 << 20
NEEDED_BYTES = 256 << 20
ENVIRONMENTS = 4096
NOT_MEASURED = "not measured"

# A busy program; it prints what the driver says in the later half of its time: the share used, and bytes of memory.
BUSY = """
import os, statistics, sys, time
os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # the driver's order
import pynvml, torch
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
left = torch.randn(4096, 4096, device="cuda")
seconds, began, used, memory = float(sys.argv[1]), time.monotonic(), [], []
following = began + seconds / 2
while (now := time.monotonic()) < began + seconds or not used:
    left = (left @ left).clamp_(-1, 1)
    if now >= following:
        used.append(pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100)
        memory.append(pynvml.nvmlDeviceGetMemoryInfo(gpu).used)
        following = now + 0.2
torch.cuda.synchronize()
print(statistics.median(used), statistics.median(memory))
"""
# Pendulums as one tensor program: a tick is a step of all of them and of the policy.
VECTOR_IMPORTS = """
import sys, time, torch, ticktree
from collections import deque
from typing import Any

"""
VECTOR = """
device, environments, ticks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
policy = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)).to(device)
angle, speed = (torch.zeros(environments, device=device) for _ in range(2))
section = TimedByHand(torch) if sys.argv[4:] else ticktree.section("env.step", device=device)
began = 0.0
with torch.no_grad():
    for tick in ticktree.loop("env", range(ticks)):
        if tick == ticks // 5:
            if device != "cpu":
                torch.cuda.synchronize()
            began = time.perf_counter()
        action = policy(torch.stack([angle.cos(), angle.sin(), speed], 1)).squeeze(1)
        with section:
            speed = speed + 0.05 * (15 * angle.sin() + 3 * action)
            angle = angle + 0.05 * speed
if device != "cpu":
    torch.cuda.synchronize()
print((time.perf_counter() - began) / (ticks - ticks // 5))
"""
RANKS = """
import sys, torch, torch.distributed as dist, ticktree
dist.init_process_group(sys.argv[1])
device = f"cuda:{dist.get_rank()}" if sys.argv[1] == "nccl" else "cpu"
values = torch.ones(1000, device=device)
for _ in ticktree.loop("train", range(50)):
    dist.all_reduce(values)
dist.destroy_process_group()
"""


@dataclass(frozen=True, slots=True)
class Part:
    """Figures that are measured together.

    Attributes:
        lines: what they are, in order; their values are 0 until they are measured.
        measure: returns a value for each line, or one line in words where it cannot be measured here.
    """

    lines: tuple[Figure, ...]
    measure: Callable[[Any], Sequence[float] | str]

    def measured(self, torch: Any) -> list[Figure | Absent]:
        """Return the lines with their values; a part that fails does not stop the others."""
        try:
            values = self.measure(torch)
        except Exception as error:
            return [Absent(line.name, f"failed: {in_words(error)}") for line in self.lines]
        if isinstance(values, str):
            return [Absent(line.name, values) for line in self.lines]
        return [replace(line, value=value) for line, value in zip(self.lines, values, strict=True)]


def in_words(error: Exception) -> str:
    """Return an error as one cell of a table: CUDA's have many lines, and a bar would end the cell."""
    text = " ".join(f"{type(error).__name__}: {error}".replace("|", "/").split())
    return text if len(text) <= 200 else f"{text[:199]}…"


def attribution(torch: Any) -> tuple[float, float]:
    """Return by how many percent a device row is off the time of waiting for the device, alone and nested.

    Nested, the device has a queue of earlier work when each section begins and ends, and nothing waits for it. The
    worse of the outer row and the sum of its inner ones counts.
    """
    a, b = (torch.randn(SIZE, SIZE, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    recorder = ticktree.Recorder()
    alone, outer, inner = (recorder.section(name, device="cuda") for name in ("alone", "outer", "inner"))

    def product() -> None:
        torch.mm(a, b, out=out)

    def in_section() -> None:
        with alone:
            product()

    def nested() -> None:
        with outer:
            for _ in range(INNER):
                with inner:
                    product()

    def in_turn() -> float:
        product_ns = synchronised_ns(torch, product)
        synchronised_ns(torch, in_section)
        for _ in range(AHEAD):
            product()
        for _ in range(CALLS):
            nested()
        torch.cuda.synchronize()
        return product_ns

    began = time.perf_counter()
    while time.perf_counter() - began < WARM_S:  # the device's clock, the pool, and what torch makes at first
        in_turn()
    rounds = []
    for _ in range(ROUNDS):  # each by itself, with its truth: a device that grows warm slows both down
        recorder.snapshot()
        recorder.reset()
        truth_ns = in_turn()
        root = recorder.snapshot().root
        rounds.append(
            [
                100 * (device_ns(root.at(path)) / products / truth_ns - 1)
                for path, products in (("alone", 1), ("outer", INNER), ("outer/inner", 1))
            ]
        )
    recorder.disable()
    alone_off, *nested_off = map(statistics.median, zip(*rounds, strict=True))
    return alone_off, max(nested_off, key=abs)


def device_ns(host: Node) -> float:
    """Return what a device took for a call of a node.

    Raises:
        RuntimeError: the time of some calls is not known, so that the rest proves little.
    """
    count = sum(device.count for device in host.on_devices)
    if count != host.count or not count:
        raise RuntimeError(f"{host.name}: device time of {count} of {host.count} calls")
    return sum(device.total_ns for device in host.on_devices) / count


def synchronised_ns(torch: Any, work: Callable[[], None]) -> float:
    """Return nanoseconds a call of so many, from an idle device to an idle device."""
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for _ in range(CALLS):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - began) / CALLS


class TimedByHand:
    """What a careful programmer writes to time a device: two events, used again, and read when they are reached."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._free: list[tuple[Any, Any]] = []
        self._open: deque[tuple[Any, Any]] = deque()
        self.total_ms = 0.0

    def __enter__(self) -> None:
        make = self._torch.cuda.Event
        pair = self._free.pop() if self._free else (make(enable_timing=True), make(enable_timing=True))
        pair[0].record()
        self._open.append(pair)

    def __exit__(self, *_: object) -> None:
        self._open[-1][1].record()
        while self._open and self._open[0][1].query():
            pair = self._open.popleft()
            self.total_ms += pair[0].elapsed_time(pair[1])
            self._free.append(pair)


def costs(torch: Any) -> tuple[float, float, float, float]:
    """Return what a section around nothing costs the host.

    A device section's nanoseconds, its ratios to torch's range, which measures no device, and to two events by hand; a
    plain section's nanoseconds.
    """
    recorder = ticktree.Recorder()
    measured, plain = recorder.section("measured", device="cuda"), recorder.section("plain")
    manual = TimedByHand(torch)
    makers: tuple[Callable[[], Any], ...] = (
        lambda: measured,
        lambda: torch.profiler.record_function("measured"),
        lambda: manual,
        lambda: plain,
    )
    rounds = [[empty_ns(torch, make) for make in makers] for _ in range(ROUNDS + 1)]
    recorder.disable()
    section_ns, range_ns, manual_ns, plain_ns = map(statistics.median, zip(*rounds[1:], strict=True))
    return section_ns, section_ns / range_ns, section_ns / manual_ns, plain_ns


def empty_ns(torch: Any, make: Callable[[], Any]) -> float:
    """Return nanoseconds on the host for a context manager around nothing."""
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for _ in range(EMPTY_CALLS):
        with make():
            pass
    return (time.perf_counter_ns() - began) / EMPTY_CALLS


def memory(torch: Any) -> tuple[float]:
    """Return by how many percent the memory that a section's calls needed is off torch's own peak of the same.

    Torch's is read first: ticktree resets it.
    """

    def allocate() -> None:
        torch.empty(NEEDED_BYTES, dtype=torch.uint8, device="cuda").fill_(1)

    allocate()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    allocate()
    expected = torch.cuda.max_memory_allocated() - before
    recorder = ticktree.Recorder()
    for _ in range(3):
        with recorder.section("allocate", memory=True):
            allocate()
    device_memory = recorder.snapshot().root.at("allocate").device_memory
    recorder.disable()
    if device_memory is None or device_memory.growth_bytes is None:
        raise RuntimeError("the section has no memory of a device")
    return (100 * (device_memory.growth_bytes / expected - 1),)


def counters(_torch: Any, seconds: float = 12) -> Sequence[float] | str:
    """Return by how many percent the gauges of a busy device are off what the driver told the program meanwhile."""
    if find_spec("pynvml") is None:
        return "pip install 'ticktree[nvidia]'"
    profile, output = under_ticktree(BUSY, str(seconds))
    readings = gpus(profile.gauges)[0]
    expected = [float(field) for field in output.split()]
    if expected[0] < 0.5:
        raise RuntimeError(f"the driver's GPU 0 was used {expected[0]:.0%}: the program was busy on another")
    # The later half: at first, the program imports torch.
    used, in_use = (statistics.median(readings[name].windows.later_half()) for name in ("used", "memory"))
    return [100 * (gauge / reported - 1) for gauge, reported in zip((used, in_use), expected, strict=True)]


def vector(
    _torch: Any, device: str = "cuda", environments: int = ENVIRONMENTS, ticks: int = 20_000
) -> tuple[float, ...]:
    """Return environment steps per second without ticktree and under it, its time's ratio, and that of timing by hand.

    The four are of runs in turn. On a CPU there are no events to time with, and the last is that of a run as it is.
    """
    program = "".join((VECTOR_IMPORTS, inspect.getsource(TimedByHand), VECTOR))
    words = (device, str(environments), str(ticks))
    plain = [sys.executable, "-c", program, *words]
    manual = [*plain, "by hand"] if device != "cpu" else plain
    turns = []
    for _ in range(PAIRS):
        plain_s = float(run(plain, TICKTREE_OFF="1"))
        profile, output = under_ticktree(program, *words)
        if device != "cpu" and not profile.root.at("env/env.step").on_devices:
            raise RuntimeError("env.step has no device row")
        turns.append((plain_s, float(output), float(run(manual, TICKTREE_OFF="1"))))
    plain_s, under_s, _ = (statistics.median(side) for side in zip(*turns, strict=True))
    ratios = [(with_ticktree / plain, manual / plain) for plain, with_ticktree, manual in turns]
    ticktree_ratio, manual_ratio = (statistics.median(side) for side in zip(*ratios, strict=True))
    return environments / plain_s, environments / under_s, ticktree_ratio, manual_ratio


def ranks(torch: Any, backend: str = "nccl") -> Sequence[float] | str:
    """Return how many of two ranks have no row for the collective in which they wait."""
    if backend == "nccl" and torch.cuda.device_count() < 2:
        return "one device"
    words = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")  # torchrun
    profile, _ = under_ticktree(RANKS, backend, launcher=words)
    waits = profile.root.at("train/all_reduce").by_thread
    return (float(2 - len(waits)),)


def copies(torch: Any) -> tuple[float, float]:
    """Return GB/s of copies to the device from pageable and from pinned memory."""
    target = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda")
    rates = []
    for is_pinned in (False, True):
        source = torch.ones(COPY_BYTES, dtype=torch.uint8, pin_memory=is_pinned)
        copy = partial(target.copy_, source, non_blocking=True)
        took = [synchronised_ns(torch, copy) for _ in range(ROUNDS)]
        rates.append(COPY_BYTES / statistics.median(took))
    return rates[0], rates[1]


def run(command: Sequence[str], **variables: str) -> str:
    """Return what a program prints.

    Raises:
        RuntimeError: it failed.
    """
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        raise RuntimeError(cause(done.stderr) or f"status {done.returncode}")
    return done.stdout


def cause(stderr: str) -> str:
    """Return the line that names the error; torchrun prints a frame of signs below it, and its own error."""
    lines = [line.strip() for line in stderr.splitlines() if re.search(r"\w", line)]
    errors = [line for line in lines if re.search(r"\b\w+(?:Error|Exception): ", line)]
    return (errors[:1] or lines[-1:] or [""])[0]


def under_ticktree(source: str, *words: str, launcher: Sequence[str] = ()) -> tuple[Profile, str]:
    """Return the profile of a program, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(source)
        command = [sys.executable, "-m", "ticktree", "run", "--quiet", "--no-history", "--out", folder]
        output = run([*command, *launcher, str(program), *words])
        (recorded,) = (path for path in Path(folder).iterdir() if path.is_dir())
        return load(recorded), output


def line(name: str, unit: str, target: float | None = None) -> Figure:
    return Figure(name, 0.0, unit, target=target)


PARTS: Sequence[Part] = (
    Part(
        (
            line("a device row, off by", "%", 1),
            line("nested rows on a busy stream, off by", "%", 1),
        ),
        attribution,
    ),
    Part(
        (
            line("a device section, on the host", "ns"),
            line("the same, of record_function", "x", 1),
            line("the same, of two events by hand", "x"),
            line("a plain section", "ns"),
        ),
        costs,
    ),
    Part((line("memory that a call needed, off by", "%", 1),), memory),
    Part((line("NVML: share used, off by", "%", 10), line("NVML: memory, off by", "%", 1)), counters),
    Part(
        (
            line(f"{ENVIRONMENTS:,} environments on the GPU", "steps/s"),
            line("the same under ticktree", "steps/s"),
            line("their time per step under ticktree", "x", 1.02),
            line("the same, with two events by hand", "x"),
        ),
        vector,
    ),
    Part((line("of 2 nccl ranks, without a row", "ranks", 0),), ranks),
    Part((line("copies from pageable memory", "GB/s"), line("copies from pinned memory", "GB/s")), copies),
)


def page(figures: Sequence[Figure | Absent] | None, facts: str) -> str:
    """Return the page in docs/; without figures, each is "not measured"."""
    rows = ["| figure | measured | target | |", "|---|--:|--:|---|"]
    cells_by_name = {figure.name: figure.cells() for figure in figures or ()}
    for line in (line for part in PARTS for line in part.lines):
        cells = cells_by_name.get(line.name, {"figure": NOT_MEASURED})
        target = "" if line.target is None else f"{line.target:g} {line.unit}"
        verdict = cells.get("verdict") or cells.get("note", "")
        rows.append(f"| {line.name} | {cells['figure']} | {target} | {verdict} |")
    head = "# Measurements on a GPU\n\n`make gpu-check` writes this page, by `benchmarks/gpu.py`."
    return f"{head} {facts}\n\n" + "\n".join(rows) + "\n"


def about(torch: Any) -> str:
    """Return what the figures depend on, and the day."""
    try:
        driver = run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]).split()[0]
    except (OSError, RuntimeError, IndexError):  # it is not there, as on AMD's, or fails
        driver = "unknown"
    facts = (torch.cuda.get_device_name(), f"driver {driver}", f"torch {torch.__version__}")
    return f"{', '.join(facts)}, ticktree {version('ticktree')}, {date.today().isoformat()}."


def has_failed(figures: Sequence[Figure | Absent]) -> bool:
    """Whether a target is missed, or a part failed."""
    return any(
        figure.reason.startswith("failed") if isinstance(figure, Absent) else figure.verdict == "missed"
        for figure in figures
    )


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", type=Path, dest="file", help=f"write the page there, such as {PAGE.name}")
    parser.add_argument("--blank", action="store_true", help="measure nothing")
    options = parser.parse_args(words)
    if options.blank:
        text = page(None, "No GPU was available: nothing was measured.")
        print(text) if options.file is None else options.file.write_text(text, encoding="utf-8")
        return 0
    torch = torch_with_gpu()
    if torch is None:
        print("no CUDA device here (or no torch built for one): nothing was measured")
        return 2
    figures = [figure for part in PARTS for figure in part.measured(torch)]
    Report("gpu", "On a GPU", figures).print(as_json=False)
    if options.file is not None:
        options.file.write_text(page(figures, about(torch)), encoding="utf-8")
    return int(has_failed(figures))


def torch_with_gpu() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


if __name__ == "__main__":
    raise SystemExit(main())
