"""How many cores there are for a program, and what else runs on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def check() -> Iterator[str]:
    """Yield cores, limits, load and frequency governor."""
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    load = os.getloadavg()[0]
    yield f"{usable} of {cores} usable; on average {load:.1f} processes wanted one in the last minute."
    if load > usable + 0.5:
        yield "That is more than there are: expect waits between one instruction and the next."
    quota = _quota()
    if quota is not None and quota < usable:
        yield f"The container stops its processes once they have used {quota:g} cores' worth in a period."
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor and governor != "performance":
        yield f"The frequency governor is {governor}: the same work takes longer after a pause."


def _quota() -> float | None:
    """Cores' worth of time a period that the control group allows; None without a limit."""
    words = _read("/sys/fs/cgroup/cpu.max").split()
    with suppress(ValueError, IndexError):
        return int(words[0]) / int(words[1])  # "max 100000" where there is no limit
    return None


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="ascii").strip()
    return ""
