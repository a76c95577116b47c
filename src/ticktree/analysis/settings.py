"""Settings: what a user may choose of how a profile is judged. Every field has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each part counts in a section's score; only their ratios matter.

    Those of a training profiler that ranks by them: 40% the share of the time, 30% the time a call, 15% each the peaks
    of memory and of device memory.

    Attributes:
        time: of the share of the time.
        call: of the time a call.
        memory: of the memory a call needs at its peak.
        device_memory: of the device's memory it needs.
    """

    time: float = 0.40
    call: float = 0.30
    memory: float = 0.15
    device_memory: float = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From where on a section is worth a word, whatever else is known of it.

    Attributes:
        critical_share: part of the time.
        slow_ns: time a call, in nanoseconds.
        memory_bytes: memory at its peak.
        device_memory_bytes: the device's memory at its peak.
    """

    critical_share: float = 0.30
    slow_ns: int = 100_000_000
    memory_bytes: int = 100_000_000
    device_memory_bytes: int = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a profile is judged.

    Attributes:
        categories: patterns of names by category, tried before the defaults; see `Categories`.
        weights: of a section's score.
        thresholds: of the findings about single sections.
    """

    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: Weights = field(default_factory=Weights)
    thresholds: Thresholds = field(default_factory=Thresholds)
