"""Which clock sections are timed with, and why that one."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

from ticktree.machine.ceilings import processor
from ticktree.recorder import Recorder

_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
# What Linux calls a TSC whose rate never changes and which never stops.
_INVARIANT = {"constant_tsc", "nonstop_tsc"}


def check() -> Iterator[str]:
    """Yield the clock and the reason."""
    kind = Recorder().clock
    if kind == "tsc":
        yield "TSC, the processor's own counter: it has one rate, and the kernel trusts it" + _source() + "."
    elif kind == "cntvct":
        yield "cntvct_el0, the processor's own counter: it has one rate."
    else:
        yield f"clock_gettime(CLOCK_MONOTONIC): {_why_not_a_counter()}. It costs more than a counter would."


def _why_not_a_counter() -> str:
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"no counter is known that can be trusted on {platform.machine()}"
    if not processor.flags() >= _INVARIANT:
        return "this processor's counter, the TSC, has no constant rate"
    return "the kernel does not trust this processor's counter, the TSC" + _source()


def _source() -> str:
    try:
        return f" (its own clock source is {_SOURCE.read_text(encoding='ascii').strip()})"
    except OSError:
        return ""
