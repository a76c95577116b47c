"""GaugeNode: the readings of one gauge."""

from __future__ import annotations

import time
from collections.abc import Mapping


class GaugeNode:
    """A value that is reported from time to time.

    Attributes:
        value: the latest.
        min_value: the least.
        max_value: the greatest.
        count: how many there were.
    """

    __slots__ = ("_timestamp", "count", "max_value", "min_value", "value")

    def __init__(self, value: float) -> None:
        self.value = self.min_value = self.max_value = value
        self.count = 1
        self._timestamp = time.time()  # of the wall clock, which processes share

    def update(self, new_value: float) -> None:
        """Add a reading."""
        self.value = new_value
        self.min_value = min(self.min_value, new_value)
        self.max_value = max(self.max_value, new_value)
        self.count += 1
        self._timestamp = time.time()

    def merge(self, other: GaugeNode) -> None:
        """Add another's readings; the latest of both is the value."""
        if other._timestamp > self._timestamp:
            self.value, self._timestamp = other.value, other._timestamp
        self.min_value = min(self.min_value, other.min_value)
        self.max_value = max(self.max_value, other.max_value)
        self.count += other.count

    def copy(self) -> GaugeNode:
        """Return a gauge of the same readings, which goes its own way."""
        twin = GaugeNode(self.value)
        twin.min_value, twin.max_value = self.min_value, self.max_value
        twin.count, twin._timestamp = self.count, self._timestamp
        return twin

    def as_dict(self) -> dict[str, float]:
        """Return the gauge as an object to be written as JSON."""
        return {"value": self.value, "min": self.min_value, "max": self.max_value, "count": self.count}


def merge_into(gauges: dict[str, GaugeNode], others: Mapping[str, GaugeNode]) -> None:
    """Add `others` to `gauges`, by name; what is new there is a copy."""
    for name, gauge in others.items():
        if name in gauges:
            gauges[name].merge(gauge)
        else:
            gauges[name] = gauge.copy()
