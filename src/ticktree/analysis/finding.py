"""Finding: one recommendation or observation, with the evidence it rests on; and the settings of how it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ticktree.analysis.loops import Saving


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


Severity: TypeAlias = Literal["critical", "warning", "info"]
Kind: TypeAlias = Literal["recommendation", "measurement", "size"]
Fact: TypeAlias = str | int | float

SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
# What people do next; then what they must know of the measurement; then what is merely large.
KINDS: tuple[Kind, ...] = ("recommendation", "measurement", "size")
# What of the loop's tick would be saved. A tenth is about what people find worth a day's work; a third changes
# how a run is set up at all.
CRITICAL_SHARE = 0.3
WARNING_SHARE = 0.1
# At 30 Hz one missed tick in a hundred is one every three seconds; one in ten, three per second.
MISSED_WARNING_SHARE = 0.01
MISSED_CRITICAL_SHARE = 0.1
# Even if all of it is saved: less is not worth reading about, let alone doing.
LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Claim:
    """What a rule says would be saved at most; `Context.saving` returns what the loop can really have.

    Attributes:
        share: a part of 1, of the mean tick of a loop, of all calls of a section, or of the run.
        path: of the loop, or of the section; "" for the run.
    """

    share: float
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is worth doing or knowing, and why.

    Attributes:
        rule: the name of the rule that found it; docs/rules has a page of that name.
        path: of the node it is about; "" where it is about the whole run.
        facts: what was measured, by name, and what the sentence about it needs (outputs/view/headline.py): nanoseconds
            where the name ends in `_ns`, bytes in `_bytes`, a part of 1 in `_share`, how many times as much in
            `_factor`; paths of nodes, and words.
        message: the sentence of a rule that another distribution brings; "" of ticktree's own. Names in it are as the
            program chose them: what shows it makes them safe to show.
        kind: a recommendation, a fact about the measurement, or a section that is merely large.
        claim: what would be saved at most; None where the rule cannot tell.
        severity: how much is saved. The registry derives it from `saving` where there is a claim.
        saving: what the loop, or the run, would gain. The registry fills it from `claim`.
        impact: what part of what matters is saved, by which findings are ordered. The registry fills it too.
        is_wrong_number: whether a number of this profile cannot be right. It comes before all recommendations, which
            rest on numbers.
    """

    rule: str
    path: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    message: str = ""
    kind: Kind = "recommendation"
    claim: Claim | None = None
    severity: Severity = "info"
    saving: Saving | None = None
    impact: float = 0.0
    is_wrong_number: bool = False

    @property
    def loop(self) -> str | None:
        """Path of the loop whose tick would be shorter; None of the run."""
        return self.claim.path if self.claim is not None and self.claim.path else None

    @property
    def saved_share(self) -> float:
        """What part of the tick, or of the run, would be saved; 0 where not known."""
        return 0.0 if self.saving is None else self.saving.share

    @property
    def rank(self) -> int:
        """How severe it is: 0 is the most severe."""
        return SEVERITIES.index(self.severity)


def severity_of(
    share: float, *, warning: float = WARNING_SHARE, critical: float = CRITICAL_SHARE
) -> Severity:
    """Return how severe it is that `share` would be saved: of a tick, of the run, or of what has limits of its own.

    Args:
        share: a part of 1.
        warning: from where on it is one.
        critical: from where on it is.
    """
    if share >= critical:
        return "critical"
    return "warning" if share >= warning else "info"


def severity_of_missed(share: float) -> Severity:
    """Return how severe it is that a loop misses `share` of its ticks."""
    return severity_of(share, warning=MISSED_WARNING_SHARE, critical=MISSED_CRITICAL_SHARE)
