"""The checks of `ticktree doctor` on a machine and its Python: one function per check, which yields sentences.

A sentence that a user should act on is a `Problem`: doctor prints it without -v, too.
"""

from __future__ import annotations

import gc
import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata, util
from pathlib import Path
from statistics import median

from ticktree.cli.runs import ago
from ticktree.errors import TicktreeError
from ticktree.files.trust import require_base
from ticktree.machine import ceilings, processor
from ticktree.machine.ceilings import Kept, NotUsableError, can_be, fingerprint
from ticktree.outputs.writing import formatting
from ticktree.recorder import Recorder, gil
from ticktree.run.memory import all_memory, is_private, memory_bases, usual_root


class Problem(str):
    """A sentence on a reason to doubt numbers, or on something that is not recorded."""

    __slots__ = ()


class Broken(Problem):
    """A sentence on a reason why nothing can be recorded."""

    __slots__ = ()


def interpreter() -> Iterator[str]:
    """Yield the version, and a remark on a free-threaded build."""
    yield f"{platform.python_implementation()} {platform.python_version()}."
    remark = gil.remark()
    if remark is not None:
        yield Problem(f"{remark[0].upper()}{remark[1:]}.")


_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
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
    try:
        return f" (its own clock source is {_SOURCE.read_text(encoding='ascii').strip()})"
    except OSError:
        return ""


_CALLS = 1000
_REPEATS = 41


def cost() -> Iterator[str]:
    """Yield what an empty section costs, by name and bound, recording and not."""
    recorder = Recorder()
    recorder.enable()
    recording = _cost_ns(_by_name(recorder)), _cost_ns(_bound(recorder))
    recorder.disable()
    disabled = _cost_ns(_by_name(recorder))
    by_hand = _cost_ns(_by_hand)
    by_name, bound, off = (
        f"{formatting.time(cost)} ({cost / by_hand:.2f})" for cost in (*recording, disabled)
    )
    yield (
        f'`with section("x")` costs {by_name}, kept in a variable {bound}, disabled {off}; in parentheses as '
        f"a share of two time.perf_counter_ns() calls, {formatting.time(by_hand)}."
    )


def _cost_ns(body: Callable[[], int]) -> float:
    """Return the cost of one iteration beyond that of an empty loop: the median of repeats, alternating with it."""
    gc.disable()
    try:
        return max(0.1, median(body() - _nothing() for _ in range(_REPEATS)) / _CALLS)
    finally:
        gc.enable()


def _nothing() -> int:
    begun = time.perf_counter_ns()
    for _ in range(_CALLS):
        pass
    return time.perf_counter_ns() - begun


def _by_hand() -> int:
    now = time.perf_counter_ns
    begun = now()
    for _ in range(_CALLS):
        entered = now()
        _ = now() - entered
    return now() - begun


def _by_name(recorder: Recorder) -> Callable[[], int]:
    section = recorder.section

    def loop() -> int:
        begun = time.perf_counter_ns()
        for _ in range(_CALLS):
            with section("cost"):
                pass
        return time.perf_counter_ns() - begun

    return loop


def _bound(recorder: Recorder) -> Callable[[], int]:
    bound = recorder.section("cost")

    def loop() -> int:
        begun = time.perf_counter_ns()
        for _ in range(_CALLS):
            with bound:
                pass
        return time.perf_counter_ns() - begun

    return loop


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
        why = error.strerror if isinstance(error, OSError) else error
        yield Broken(f"{base} cannot be used: {why}; nothing can be recorded.")
        return
    free, size = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
    yield (
        f"Memory files go to {base}: {formatting.size(free)} free of {formatting.size(size)}; a run claims "
        f"{formatting.size(free / _CLAIM)} at most."
    )
    if space.f_files and not space.f_favail:
        yield Broken(f"{base} has no room for more files.")
    usual = usual_root(base)
    if os.path.lexists(usual) and not is_private(usual):
        yield Problem(f"{usual} is not private to this user: memory files go to a directory of another name.")
    kind = _filesystem(base)
    if kind is not None and kind not in _IN_MEMORY:
        yield Problem(
            f"{base} is {kind}, not memory: a recorded program may stall when the kernel writes pages back."
        )
    unfinished = sum(1 for _ in all_memory())
    if unfinished:
        yield f"{formatting.counted(unfinished, 'run')} of yours on this machine not finished yet."


def _filesystem(path: Path) -> str | None:
    """Return the type of a path's file system; None if the kernel does not list it."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    resolved = path.resolve()
    best: tuple[int, str | None] = (-1, None)
    for _, point, kind, *_ in (line.split() for line in mounts):
        mounted = Path(point.encode(errors="surrogateescape").decode("unicode_escape"))
        if resolved.is_relative_to(mounted) and len(mounted.parts) >= best[0]:
            best = (len(mounted.parts), kind)
    return best[1]


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
        found = ceilings.load(machine)
    except NotUsableError as error:
        yield Problem(f"{error}; it is ignored. {_MEASURE}.")
        found = None
    else:
        if found is None:
            yield f"Not measured: {_MEASURE}.{_others(ceilings.of_others(machine))}"
    if found is not None:
        yield f"{'; '.join(_amounts(found))}."
        yield f"Measured {ago(time.time() - found.measured_wall_s)}: {best_of(found)}."
    yield from unusable(found)


def amount(name: str, value: float) -> str:
    """Return a ceiling with its unit."""
    unit = NAMES[name][1]
    return formatting.scaled(value, unit) if unit else formatting.time(value)


def best_of(found: Kept) -> str:
    """Return how many measurements the ceilings are the best of."""
    return "once" if found.measurements == 1 else f"the best of {formatting.count(found.measurements)}"


def unusable(found: Kept | None) -> Iterator[str]:
    """Yield which of the ceilings `found` are too low to use, and what replaces them."""
    bound = ceilings.flops_per_s()
    flops = found.ceilings.get("flops_per_s") if found else None
    if bound is None or can_be(flops, bound):
        return
    if flops is not None:
        yield "numpy multiplies too slowly here to measure the processor."
    yield (
        f"ticktree calls a FLOP rate impossible above {formatting.scaled(bound, 'FLOP/s')}, computed from the "
        "processor's vector width, its cores and the fastest clock of any processor."
    )


def _amounts(found: Kept) -> Iterator[str]:
    for name, (what, _) in NAMES.items():
        if name in found.ceilings:
            yield f"{what}: {amount(name, found.ceilings[name])}"


def _others(count: int) -> str:
    return f" Kept measurements are of {formatting.counted(count, 'other machine')}." if count else ""


_BUILT_FOR = re.compile(r"^(cuda|hip)\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)


def devices(gpus: int | None = None) -> Iterator[str]:
    """Yield one sentence per kind of device.

    Args:
        gpus: number of NVIDIA GPUs; by default, those that the driver lists.
    """
    torch = _version("torch")
    yield f"cuda: {_cuda(torch, processor.gpus() if gpus is None else gpus)}"
    yield f"mps: {_mps(torch)}"
    yield "cpu: work is done when the call returns, so the host's time is the device's; there is no separate row."
    yield f"jax: {_jax(_version('jax'))}"
    if _version("nvidia-ml-py") is None:
        yield "Counters of NVIDIA GPUs are not read: pip install 'ticktree[nvidia]'."
    else:
        yield "Counters of NVIDIA GPUs are read by `ticktree run`, where the driver has any."


def _cuda(torch: str | None, gpus: int) -> str:
    if torch is None:
        return "not measured: torch is not installed."
    built = built_for()
    if not built:
        return f"not measured: torch {torch} was built without it."
    listed = f"the driver lists {gpus} from NVIDIA" if gpus else "the driver lists none from NVIDIA"
    return (
        f"measured by events of torch {torch} ({', '.join(built)}), which are read later; nothing waits. "
        f"GPUs: {listed}."
    )


def _mps(torch: str | None) -> str:
    if torch is None:
        return "not measured: torch is not installed."
    if not processor.is_apple():
        return "not measured: this is not a Mac with an Apple processor."
    return "measured only with --device-sync: reading its clock waits for it."


def _jax(version: str | None) -> str:
    if version is None:
        return "not measured: jax is not installed."
    return (
        "measured only with --device-sync, from the section's beginning until its results are available "
        f"(jax {version})."
    )


def built_for() -> list[str]:
    """Return what the installed torch was built for, such as "cuda 12.8"."""
    with suppress(ImportError, OSError, ValueError):
        spec = util.find_spec("torch")
        for folder in (spec.submodule_search_locations or []) if spec is not None else []:
            text = Path(folder, "version.py").read_text(encoding="utf-8", errors="replace")
            return [f"{kind} {version}" for kind, version in _BUILT_FOR.findall(text)]
    return []


def _version(name: str) -> str | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    return None
