"""The processor, as the system describes it. Unknown values are "", an empty set or None."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_NVIDIA = Path("/proc/driver/nvidia/gpus")
_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def model(cpuinfo: Path = _CPUINFO) -> str:
    """Return the processor's name, or at least its architecture."""
    return _first(cpuinfo, ("model name", "Model")) or platform.processor() or platform.machine()


def flags(cpuinfo: Path = _CPUINFO) -> frozenset[str]:
    """Return its instruction sets, as Linux names them; none if the system does not report them."""
    return frozenset(_first(cpuinfo, ("flags", "Features")).split())


def cores_of_process() -> set[int]:
    """Return the numbers of the cores that this process may run on."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    return len(cores_of_process())


def memory_bytes() -> int | None:
    """Return the size of the memory."""
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def largest_cache_bytes(caches: Path = _CACHES) -> int | None:
    """Return the size of the largest cache of the first core, shared or not."""
    sizes = [_size(path) for path in caches.glob("index*/size")]
    return max((size for size in sizes if size), default=None)


def gpu_count(folder: Path = _NVIDIA) -> int:
    """Return how many GPUs the NVIDIA driver lists. Others are not counted: 0 does not mean no GPU."""
    with suppress(OSError):
        return sum(1 for _ in folder.iterdir())
    return 0


def gpu_model(folder: Path = _NVIDIA) -> str:
    """Return the name of the first of these GPUs."""
    with suppress(OSError):
        return _first(min(folder.iterdir(), default=folder) / "information", ("Model",))
    return ""


def is_apple() -> bool:
    """Return whether this is a Mac whose processor and GPU are Apple's own."""
    return platform.system() == "Darwin" and platform.machine() == "arm64"


def _first(path: Path, labels: tuple[str, ...]) -> str:
    """Return the value of the first line with one of the labels; "" if there is none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(labels)), "")


def _size(path: Path) -> int | None:
    with suppress(OSError):
        match = re.fullmatch(r"(\d+)([KMG]?)", path.read_text(encoding="ascii", errors="replace").strip())
        return int(match[1]) * _SUFFIXES[match[2]] if match else None
    return None
