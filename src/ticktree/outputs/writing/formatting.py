"""Numbers as people read them, in every output: three significant digits and a unit."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping

ABSENT = "-"

_SECOND = 10**9
# A time is written in the first unit in which it is below the limit.
_TIMES = (
    (1e3, 1, "ns"),
    (1e6, 1e3, "µs"),
    (1e9, 1e6, "ms"),
    (1000 * _SECOND, _SECOND, "s"),
    (6000 * _SECOND, 60 * _SECOND, "min"),
    (360_000 * _SECOND, 3600 * _SECOND, "h"),
    (float("inf"), 86_400 * _SECOND, "d"),
)
_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")


def time(ns: float | None) -> str:
    """Return a duration, such as "16.1 ms"; "-" for None."""
    if ns is None:
        return ABSENT
    if ns < 0:
        return "-" + time(-ns)
    # At 999.5 three digits round to 1000, which is 1.00 of the next unit.
    unit_ns, unit = next((unit_ns, unit) for limit, unit_ns, unit in _TIMES if ns < limit * 0.9995)
    return f"{ns if isinstance(ns, int) and unit == 'ns' else significant(ns / unit_ns)} {unit}"


def count(number: int | None) -> str:
    """Return a count, such as "12,345" or "12.3 M"; "-" for None."""
    if number is None:
        return ABSENT
    return f"{number:,}" if abs(number) < 10_000_000 else scaled(number, "").rstrip()


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 loop, 2 loops, 2 switches."""
    return f"{count(number)} {noun if number == 1 else _plural(noun)}"


def counted_phrase(number: int, phrase: str) -> str:
    """Return a number with a phrase in the plural: 1 module not instrumented, 2 modules not instrumented."""
    if number != 1:
        return f"{count(number)} {phrase}"
    words = phrase.split(" ")
    index = next((i for i, word in enumerate(words) if word.endswith("s") and not word.endswith("ss")), 0)
    words[index] = re.sub(r"(?<=ss|ch)es$|s$", "", words[index])
    return f"1 {' '.join(words)}"


def _plural(noun: str) -> str:
    return noun + ("es" if noun.endswith(("ch", "ss")) else "s")


def size(number_of_bytes: float) -> str:
    """Return an amount of memory, such as "75.5 MB" (a megabyte is 1,000,000 bytes)."""
    return scaled(number_of_bytes, "B")


def factor(times: float) -> str:
    """Return a factor, such as "1.61×"."""
    return f"{significant(times)}×"


def capitalized(text: str) -> str:
    """Return a text as it begins a line; names in it stay as they are."""
    return text[:1].upper() + text[1:]


def rate(amount: float, ns: float, unit: str) -> str:
    """Return `amount` per time, such as "4.69 GB/s"; "-" if the time is 0."""
    return scaled(amount * _SECOND / ns, f"{unit}/s") if ns > 0 else ABSENT


def hertz(hz: float | None) -> str:
    """Return a frequency, such as "99.8 Hz"; "-" for None."""
    return ABSENT if hz is None else scaled(hz, "Hz")


def pace(tick_ns: float | None, noun: str = "step") -> str:
    """Return the pace of a loop from its mean tick: "251 steps/s", or below one per second "1.27 s/step"."""
    if not tick_ns or tick_ns < 0:
        return ABSENT
    hz = _SECOND / tick_ns
    if hz < 1:
        return f"{time(tick_ns)}/{noun}"
    number = f"{round(hz):,}" if 999.5 <= hz < 1e7 else scaled(hz, "").rstrip()
    return f"{number} {_plural(noun)}/s"


def shorter(old_ns: float, new_ns: float) -> str:
    """Return a duration before and after a change, both in the unit of the first: "1.18 → 0.71 s"."""
    if old_ns <= 0:
        return change(time(old_ns), time(new_ns))
    unit_ns, unit = next((unit_ns, unit) for limit, unit_ns, unit in _TIMES if old_ns < limit * 0.9995)
    return f"{significant(old_ns / unit_ns)} → {significant(max(0.0, new_ns) / unit_ns)} {unit}"


def change(old: str, new: str) -> str:
    """Return a number with its unit before and after a change: "22.0 → 39.0 Hz", "950 Hz → 1.20 kHz"."""
    number, _, unit = old.partition(" ")
    return f"{number if unit and new.endswith(f' {unit}') else old} → {new}"


def share(part: float | None) -> str:
    """Return a fraction as a percentage, such as "98%", "1.1%" or "0.04%"; "-" for None."""
    if part is None:
        return ABSENT
    percent = 100 * part
    for limit, digits in ((0.00005, 0), (0.095, 2), (9.95, 1)):
        if abs(percent) < limit:
            return f"{abs(percent) if not digits else percent:.{digits}f}%"
    # A share of a few nanoseconds may be any number: it must not make the table too wide.
    return f"{percent:.0f}%" if abs(percent) < 999_999.5 else f"{percent:.4g}%"


def reading(value: float | None) -> str:
    """Return a gauge's value, whose unit only the program knows; "-" for None."""
    if value is None:
        return ABSENT
    if abs(value) < 10_000_000 and (value == int(value) or abs(value) >= 1000):
        return f"{round(value):,}"
    return f"{value:.4g}"


def verdict(word: str) -> str:
    """Return a verdict or a status for people: "cannot tell" for "inconclusive"."""
    return "cannot tell" if word == "inconclusive" else word


def ending(status: int | None) -> str:
    """Return how a program ended, in words that can follow a comma; "" if it is unknown.

    Args:
        status: as in Python's `subprocess`, negative for a signal.
    """
    if status is None:
        return ""
    if status >= 0:
        return f"exit status {status}"
    if status == -signal.SIGINT:
        return "interrupted (SIGINT)"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def scaled(amount: float, unit: str) -> str:
    """Return `amount` with a decimal prefix before `unit`."""
    magnitude, prefix = abs(amount), 0
    while magnitude >= 999.5 and prefix < len(_PREFIXES) - 1:
        magnitude, prefix = magnitude / 1000, prefix + 1
    sign = "-" if amount < 0 else ""
    number = str(int(magnitude)) if not prefix and magnitude == int(magnitude) else significant(magnitude)
    return f"{sign}{number} {_PREFIXES[prefix]}{unit}"


def significant(value: float) -> str:
    """Return a value that is not negative with three significant digits."""
    for limit, digits in ((0.9995, 3), (9.995, 2), (99.95, 1)):
        if value < limit:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


# The formatter of each unit.
UNITS: Mapping[str, Callable[[float], str]] = {
    "ns": time,
    "share": share,
    "count": lambda number: count(round(number)),
    "bytes": size,
    "hz": hertz,
    "factor": factor,
    "bytes_per_s": lambda speed: scaled(speed, "B/s"),
    "flops_per_s": lambda speed: scaled(speed, "FLOP/s"),
    "score": lambda score: f"{score:.1f}",
    "reading": reading,
}


def gpu_names(number: str, model: str = "") -> str:
    """Return the GPUs of a machine, as "NVIDIA H200" or "8 GPUs"; "" for none."""
    if not number or not model:
        return number and f"{number} GPU{'' if number == '1' else 's'}"
    return model if number == "1" else f"{number} × {model}"
