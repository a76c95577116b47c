"""Ceilings: what the machine of a run can do at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ticktree.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """What the machine can do at most; of several machines in one profile, the fastest. None where not known.

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


def ceilings(profile: Profile) -> Ceilings | None:
    """Return the ceilings that a run carries in its metadata; None where it carries none."""
    facts = profile.metadata
    if not any(key.startswith("ceiling.") for key in facts):
        return None

    def most(key: str) -> float | None:
        return max(_positive(facts.get(key, ())), default=None)

    return Ceilings(
        memcpy_bytes_per_s=most("ceiling.memcpy_bytes_per_s"),
        cache_copy_bytes_per_s=most("ceiling.cache_copy_bytes_per_s"),
        cache_bytes=_whole(most("ceiling.cache_bytes")),
        flops_per_s_thread=most("ceiling.flops_per_s_thread"),
        flops_per_s=most("ceiling.flops_per_s"),
        is_measured=facts.get("ceiling.source") == frozenset({"measured"}),
        low_precision_factor=max(1.0, most("ceiling.low_precision_factor") or 1.0),
        cores=_whole(most("cores_usable") or most("cores")) or 1,
        gpus=_whole(most("gpus")) or 0,
        clock_read_ns=min(_positive(facts.get("ceiling.clock_read_ns", ())), default=None),
    )


def _positive(values: Iterable[object]) -> list[float]:
    """Return those of `values` that are positive numbers: metadata may come from a file that says anything."""
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return [float(number) for number in numbers if 0 < number < 1e300]


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
