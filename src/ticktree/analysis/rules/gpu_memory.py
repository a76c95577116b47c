"""A call of a section needs much of a device's memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Finding
from ticktree.analysis.rules.memory import needy
from ticktree.analysis.survey import Survey


class GpuMemoryRule:
    """Each section a call of which needs more than 100 MB of a device's memory; see docs/rules/gpu-memory.md."""

    name: ClassVar[str] = "gpu-memory"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each such section, the one that needs most first."""
        limit = seen.settings.thresholds.device_memory_bytes
        yield from needy(self.name, seen, lambda node: node.device_memory, limit)
