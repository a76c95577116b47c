"""What follows from a profile: pure functions of it. They return data; outputs draw it."""

from __future__ import annotations

from ticktree.analysis.finding import Finding
from ticktree.analysis.registry import findings
from ticktree.analysis.settings import Settings

__all__ = ["Finding", "Settings", "findings"]
