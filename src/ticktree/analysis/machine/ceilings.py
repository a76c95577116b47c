"""Ceilings: what the machine of a run can do at most.

A profile may be of runs on several machines, and does not say what was done on which. So who calls a number impossible
asks for the fastest of them, and who calls one slow for the slowest: either may then be silent, but not wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ticktree.profile import Profile

_Choice: TypeAlias = Callable[[Iterable[float]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """What a machine can do at most. None where not known.

    Attributes:
        memcpy_bytes_per_s: bytes copied a second by one thread, too many to be in a cache, onto memory that is
            already there. Each byte is counted once, though it is read and written.
        cache_copy_bytes_per_s: the same of so few bytes that they stay in the caches.
        cache_bytes: size of the largest cache.
        flops_per_s_thread: float32 operations a second by one thread.
        flops_per_s: the same by as many threads as there are usable cores.
        is_measured: whether the two were measured; else they are reckoned from the processor's width, so generously
            that no program comes near.
        low_precision_factor: how many times as fast as float32 the narrower formats are at most (bfloat16, float16).
        cores: how many cores the run could use.
        gpus: how many GPUs the system told of. 0 where it told of none, which does not mean that there is none.
        clock_read_ns: what reading the clock costs.
    """

    memcpy_bytes_per_s: float | None = None
    cache_copy_bytes_per_s: float | None = None
    cache_bytes: int | None = None
    flops_per_s_thread: float | None = None
    flops_per_s: float | None = None
    is_measured: bool = False
    low_precision_factor: float = 1.0
    cores: int = 1
    gpus: int = 0
    clock_read_ns: float | None = None


def fastest_machine(profile: Profile) -> Ceilings | None:
    """Return what no machine of a profile exceeds; None where it carries no ceilings."""
    return _ceilings(profile, max, min)


def slowest_machine(profile: Profile) -> Ceilings | None:
    """Return what every machine of a profile can do; None where it carries no ceilings."""
    return _ceilings(profile, min, max)


def _ceilings(profile: Profile, of_speed: _Choice, of_cost: _Choice) -> Ceilings | None:
    """Return the ceilings in a profile's metadata, of several values of a key the one that is chosen.

    Args:
        profile: of one machine or several.
        of_speed: chooses among rates and sizes, of which more is faster.
        of_cost: chooses among times, of which less is.
    """
    facts = profile.metadata
    if not any(key.startswith("ceiling.") for key in facts):
        return None

    def one(key: str, of: _Choice = of_speed) -> float | None:
        known = _positive(facts.get(key, ()))
        return of(known) if known else None

    return Ceilings(
        memcpy_bytes_per_s=one("ceiling.memcpy_bytes_per_s"),
        cache_copy_bytes_per_s=one("ceiling.cache_copy_bytes_per_s"),
        cache_bytes=_whole(one("ceiling.cache_bytes")),
        flops_per_s_thread=one("ceiling.flops_per_s_thread"),
        flops_per_s=one("ceiling.flops_per_s"),
        is_measured=facts.get("ceiling.source") == frozenset({"measured"}),
        low_precision_factor=max(1.0, one("ceiling.low_precision_factor") or 1.0),
        cores=_whole(one("cores_usable") or one("cores")) or 1,
        gpus=_whole(one("gpus", max)) or 0,  # a part of no speed: there is one, or there is none
        clock_read_ns=one("ceiling.clock_read_ns", of_cost),
    )


def _positive(values: Iterable[object]) -> list[float]:
    """Return those of `values` that are positive numbers: metadata may come from a file that says anything."""
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return [float(number) for number in numbers if 0 < number < 1e300]


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
