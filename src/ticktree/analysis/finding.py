"""Finding: one piece of advice, with the evidence it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Severity: TypeAlias = Literal["critical", "warning", "info"]
Evidence: TypeAlias = Mapping[str, str | int | float]

SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
# What of the run's length is at stake. A tenth is about what people find worth a day's work; a third changes
# how a run is set up at all.
CRITICAL_SHARE = 0.3
WARNING_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Finding:
    """What is worth doing, and why.

    Attributes:
        rule: the name of the rule that found it; docs/rules has a page of that name.
        severity: how much is at stake.
        path: of the node it is about; "" where it is about the whole run.
        message: one sentence, of this run's own names and numbers. Names in it are as the program chose them:
            whoever shows it makes them safe to show.
        evidence: what was measured, by name: nanoseconds where the name ends in `_ns`, bytes in `_bytes`, a part of 1
            in `_share`, how many times as much in `_factor`. Names are such that they can follow their number:
            "9.65 ms a_call". `at_stake_share` is what part of the run's length could be saved at most; of the loop's,
            where `loop` is the path of one.
        is_wrong_number: whether it says that a number of this profile cannot be. It comes before all advice, which
            rests on numbers.
    """

    rule: str
    severity: Severity
    path: str
    message: str
    evidence: Evidence = field(default_factory=dict)
    is_wrong_number: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it as `report --format json` writes it."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "path": self.path,
            "message": self.message,
            "evidence": dict(self.evidence),
        }

    @property
    def rank(self) -> int:
        """How severe it is: 0 is the most severe."""
        return SEVERITIES.index(self.severity)


def severity_of(
    share: float, *, warning: float = WARNING_SHARE, critical: float = CRITICAL_SHARE
) -> Severity:
    """Return how severe it is that `share` is at stake: of the run's length, or of what has limits of its own.

    Args:
        share: a part of 1.
        warning: from where on it is one.
        critical: from where on it is.
    """
    if share >= critical:
        return "critical"
    return "warning" if share >= warning else "info"
