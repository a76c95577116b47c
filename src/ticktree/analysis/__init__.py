"""What follows from a profile: pure functions of it. They return data; outputs draw it."""

from __future__ import annotations

from ticktree.analysis.finding import Claim, Fact, Finding, Settings, Severity, severity_of
from ticktree.analysis.registry import findings
from ticktree.analysis.survey import Survey
from ticktree.analysis.third_party import Rule

__all__ = [
    "Claim",
    "Fact",
    "Finding",
    "Rule",
    "Settings",
    "Severity",
    "Survey",
    "findings",
    "severity_of",
]
