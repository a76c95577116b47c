"""What follows from a profile: pure functions of it. They return data; outputs draw it."""

from __future__ import annotations

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim, Fact, Finding, Settings, Severity, severity_of
from ticktree.analysis.registry import findings
from ticktree.analysis.third_party import Rule

__all__ = [
    "Claim",
    "Context",
    "Fact",
    "Finding",
    "Rule",
    "Settings",
    "Severity",
    "findings",
    "severity_of",
]
