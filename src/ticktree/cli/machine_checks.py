"""The checks of `ticktree doctor` on a machine and its Python: one function per check, which yields sentences.

A sentence that a user should act on is a `Problem`: doctor prints it without -v, too.
"""

from __future__ import annotations

import gc
import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata, util
from pathlib import Path
from statistics import median
from timeit import Timer

from psutil import disk_partitions

from ticktree.cli.runs import ago
from ticktree.errors import TicktreeError
from ticktree.files.trust import require_base
from ticktree.machine import ceilings, processor
from ticktree.machine.ceilings import CeilingsError, MeasuredCeilings, fingerprint, is_plausible
from ticktree.outputs.writing import formatting
from ticktree.recorder import Recorder, gil
from ticktree.run.memory import all_memory, default_root, is_private, memory_bases


class Problem(str):
    """A sentence on a reason to doubt numbers, or on something that is not recorded."""

    __slots__ = ()


class Broken(Problem):
    """A sentence on a reason why nothing can be recorded."""

    __slots__ = ()


def interpreter() -> Iterator[str]:
    """Yield the version, and a remark on a free-threaded build."""
    yield f"{platform.python_implementation()} {platform.python_version()}."
    remark = gil.free_threading_note()
    if remark is not None:
        yield Problem(f"{remark[0].upper()}{remark[1:]}.")


# Linux's names for a TSC whose rate never changes and which never stops.
_INVARIANT = {"constant_tsc", "nonstop_tsc"}


def clock() -> Iterator[str]:
    """Yield the clock and the reason."""
    kind = Recorder().clock
    if kind == "tsc":
        yield "TSC, the processor's counter: its rate is constant, and the kernel trusts it" + _source() + "."
    elif kind == "cntvct":
        yield "cntvct_el0, the processor's counter: its rate is constant."
    else:
        yield f"clock_gettime(CLOCK_MONOTONIC): {_why_not_a_counter()}. It costs more than a counter."


def _why_not_a_counter() -> str:
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"ticktree knows no reliable counter on {platform.machine()}"
    if not processor.flags() >= _INVARIANT:
        return "this processor's counter, the TSC, has no constant rate"
    return "the kernel does not trust this processor's counter, the TSC" + _source()


def _source() -> str:
    source = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return f" (its own clock source is {source})" if source else ""


_CALLS = 1000
_REPEATS = 41


def cost() -> Iterator[str]:
    """Yield what an empty section costs, by name and bound, recording and not."""
    recorder = Recorder()
    by_name = "with section('cost'):\n    pass"
    recorder.enable()
    recording = (
        _cost_ns(by_name, "section = recorder.section", recorder=recorder),
        _cost_ns("with bound:\n    pass", "bound = recorder.section('cost')", recorder=recorder),
    )
    recorder.disable()
    disabled = _cost_ns(by_name, "section = recorder.section", recorder=recorder)
    by_hand = _cost_ns("entered = now()\n_ = now() - entered", "now = clock", clock=time.perf_counter_ns)
    named, bound, off = (f"{formatting.time(cost)} ({cost / by_hand:.2f})" for cost in (*recording, disabled))
    yield (
        f'`with section("x")` costs {named}, kept in a variable {bound}, disabled {off}; in parentheses as '
        f"a share of two time.perf_counter_ns() calls, {formatting.time(by_hand)}."
    )


def _cost_ns(code: str, setup: str, **names: object) -> float:
    """Return the cost of `code` beyond that of an empty loop: the median of repeats, alternating with it."""
    body, empty = (Timer(statement, setup, time.perf_counter_ns, names) for statement in (code, "pass"))
    costs = (body.timeit(_CALLS) - empty.timeit(_CALLS) for _ in range(_REPEATS))
    return max(0.1, median(costs) / _CALLS)


# session.py claims at most this part of the free memory: data loaders and others use it too.
_CLAIM = 4
_IN_MEMORY = {"tmpfs", "ramfs", "hugetlbfs"}


def memory() -> Iterator[str]:
    """Yield the place, what is free there, and what other runs occupy."""
    base = next(memory_bases())
    try:
        require_base(base)
        space = os.statvfs(base)
    except (OSError, TicktreeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        yield Broken(f"{base} cannot be used: {reason}; nothing can be recorded.")
        return
    free, size = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
    yield (
        f"Memory files go to {base}: {formatting.size(free)} free of {formatting.size(size)}; a run claims "
        f"{formatting.size(free / _CLAIM)} at most."
    )
    if space.f_files and not space.f_favail:
        yield Broken(f"{base} has no room for more files.")
    usual = default_root(base)
    if os.path.lexists(usual) and not is_private(usual):
        yield Problem(f"{usual} is not private to this user: memory files go to a directory of another name.")
    kind = _filesystem(base)
    if kind is not None and kind not in _IN_MEMORY:
        yield Problem(
            f"{base} is {kind}, not memory: a recorded program may stall when the kernel writes pages back."
        )
    if unfinished := sum(1 for _ in all_memory()):
        yield f"{formatting.counted(unfinished, 'run')} of yours on this machine not finished yet."


def _filesystem(path: Path) -> str | None:
    """Return the type of a path's file system; None if the kernel does not list it."""
    if not Path("/proc/self/mounts").exists():
        return None
    mounts = [disk for disk in disk_partitions(all=True) if path.resolve().is_relative_to(disk.mountpoint)]
    # Of several at one place, the last one covers the others.
    mounts.sort(key=lambda mount: len(Path(mount.mountpoint).parts))
    return mounts[-1].fstype if mounts else None


def cores() -> Iterator[str]:
    """Yield cores, limits, load and frequency governor."""
    cores = os.cpu_count() or 1
    usable = processor.usable_cores()
    load = os.getloadavg()[0]
    yield f"{usable} of {cores} usable; in the last minute, {load:.1f} processes were ready to run on average."
    if load > usable + 0.5:
        yield Problem(
            f"In the last minute, {load:.1f} processes were ready to run on {usable} cores: a program may lose its "
            "core at any instruction."
        )
    quota = _quota()
    if quota is not None and quota < usable:
        yield Problem(
            f"The container is limited to {quota:g} cores: its processes stop for the rest of a period in which they "
            "used these up."
        )
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor and governor != "performance":
        yield Problem(f"The frequency governor is {governor}: the same work takes longer after a pause.")


def _quota() -> float | None:
    """Return the cores per period that the control group allows; None without a limit."""
    words = _read("/sys/fs/cgroup/cpu.max").split()
    with suppress(ValueError, IndexError):
        return int(words[0]) / int(words[1])  # "max 100000" without a limit
    return None


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="ascii").strip()
    return ""


_WATCHED_NS = 500_000_000
_INTERRUPTED_NS = 20_000  # Two clock reads in a row take a hundredth of that.
_NOISY = 0.05  # of a loop's time lost: as large as the differences that most users look for


def noise() -> Iterator[str]:
    """Yield how often a loop that only reads the clock was interrupted."""
    gaps = _gaps_ns()
    lost = sum(gaps) / _WATCHED_NS
    if not gaps:
        yield f"In half a second, a busy loop was never stopped for {formatting.time(_INTERRUPTED_NS)} or longer."
        return
    sentence = (
        f"In half a second, a busy loop was stopped {formatting.counted(len(gaps), 'time')} for "
        f"{formatting.time(_INTERRUPTED_NS)} or longer, at most for {formatting.time(max(gaps))}: "
        f"{formatting.share(lost)} of its time. No section can be steadier here."
    )
    yield Problem(sentence) if lost > _NOISY else sentence


def _gaps_ns() -> list[int]:
    now = time.perf_counter_ns
    gaps = []
    gc.disable()
    try:
        last = now()
        end = last + _WATCHED_NS
        while last < end:
            before, last = last, now()
            if last - before >= _INTERRUPTED_NS:
                gaps.append(last - before)
    finally:
        gc.enable()
    return gaps


_MEASURE = "`ticktree doctor --measure` takes a few seconds"
# By key: the name, and the unit; "" for a cost in nanoseconds.
NAMES = {
    "memcpy_bytes_per_s": ("memcpy, one thread", "B/s"),
    "cache_copy_bytes_per_s": ("memcpy in caches, one thread", "B/s"),
    "flops_per_s_thread": ("float32, one thread", "FLOP/s"),
    "flops_per_s": ("float32, all threads", "FLOP/s"),
    "clock_read_ns": ("reading the clock", ""),
}


def limits() -> Iterator[str]:
    """Yield this machine's ceilings, or why there are none."""
    machine = fingerprint()
    try:
        measured = ceilings.load(machine)
    except CeilingsError as error:
        yield Problem(f"{error}; it is ignored. {_MEASURE}.")
        measured = None
    else:
        if measured is None:
            count = ceilings.count_other_machines(machine)
            remark = (
                f" Kept measurements are of {formatting.counted(count, 'other machine')}." if count else ""
            )
            yield f"Not measured: {_MEASURE}.{remark}"
    if measured is not None:
        amounts = (
            f"{title}: {amount(name, measured.ceilings[name])}"
            for name, (title, _) in NAMES.items()
            if name in measured.ceilings
        )
        yield f"{'; '.join(amounts)}."
        yield f"Measured {ago(time.time() - measured.measured_wall_s)}: {best_of(measured)}."
    yield from unusable(measured)


def amount(name: str, value: float) -> str:
    """Return a ceiling with its unit."""
    unit = NAMES[name][1]
    return formatting.scaled(value, unit) if unit else formatting.time(value)


def best_of(measured: MeasuredCeilings) -> str:
    """Return how many measurements the ceilings are the best of."""
    return "once" if measured.measurements == 1 else f"the best of {formatting.count(measured.measurements)}"


def unusable(measured: MeasuredCeilings | None) -> Iterator[str]:
    """Yield which of the ceilings `found` are too low to use, and what replaces them."""
    bound = ceilings.flops_per_s()
    flops = measured.ceilings.get("flops_per_s") if measured else None
    if bound is None or is_plausible(flops, bound):
        return
    if flops is not None:
        yield "numpy multiplies too slowly here to measure the processor."
    yield (
        f"ticktree calls a FLOP rate impossible above {formatting.scaled(bound, 'FLOP/s')}, computed from the "
        "processor's vector width, its cores and the fastest clock of any processor."
    )


_ABSENT = "not measured: {} is not installed."
_JAX = (
    "measured only with --device-sync, from the section's beginning until its results are available (jax {})."
)
_BUILT_FOR = re.compile(r"^(cuda|hip)\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)


def devices(gpus: int | None = None) -> Iterator[str]:
    """Yield one sentence per kind of device; by default, the NVIDIA GPUs that the driver lists are counted."""
    torch, jax = _version("torch"), _version("jax")
    gpus = processor.gpu_count() if gpus is None else gpus
    yield f"cuda: {_cuda(torch, gpus) if torch else _ABSENT.format('torch')}"
    yield f"mps: {_mps() if torch else _ABSENT.format('torch')}"
    yield "cpu: work is done when the call returns, so the host's time is the device's; there is no separate row."
    yield f"jax: {_JAX.format(jax) if jax else _ABSENT.format('jax')}"
    if _version("nvidia-ml-py") is None:
        yield "Counters of NVIDIA GPUs are not read: pip install 'ticktree[nvidia]'."
    else:
        yield "Counters of NVIDIA GPUs are read by `ticktree run`, where the driver has any."


def _cuda(torch: str, gpus: int) -> str:
    built = _built_for()
    if not built:
        return f"not measured: torch {torch} was built without it."
    gpu_count = f"the driver lists {gpus} from NVIDIA" if gpus else "the driver lists none from NVIDIA"
    return (
        f"measured by events of torch {torch} ({', '.join(built)}), which are read later; nothing waits. "
        f"GPUs: {gpu_count}."
    )


def _mps() -> str:
    if not processor.is_apple():
        return "not measured: this is not a Mac with an Apple processor."
    return "measured only with --device-sync: reading its clock waits for it."


def _built_for() -> list[str]:
    """Return what the installed torch was built for, such as "cuda 12.8"."""
    with suppress(ImportError, OSError, ValueError):
        spec = util.find_spec("torch")
        for folder in (spec and spec.submodule_search_locations) or ():
            text = Path(folder, "version.py").read_text(encoding="utf-8", errors="replace")
            return [f"{kind} {version}" for kind, version in _BUILT_FOR.findall(text)]
    return []


def _version(name: str) -> str | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    return None
