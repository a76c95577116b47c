"""Finding: one recommendation or observation with its evidence; and the thresholds of the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ticktree.analysis.loops import Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of the parts of a section's score; only their ratios matter.

    The defaults are those of a training profiler: 40% share of the time, 30% time per call, 15% each for the peaks of
    memory and of device memory.

    Attributes:
        time: weight of the share of the time.
        call: weight of the time per call.
        memory: weight of the peak memory of a call.
        device_memory: weight of its peak device memory.
    """

    time: float = 0.40
    call: float = 0.30
    memory: float = 0.15
    device_memory: float = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The limits from which a section is reported as large.

    Attributes:
        critical_share: share of the time.
        slow_ns: time per call, in nanoseconds.
        memory_bytes: peak memory.
        device_memory_bytes: peak memory of the device.
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
# First what users should do, then what they must know about the measurement, then what is merely large.
KINDS: tuple[Kind, ...] = ("recommendation", "measurement", "size")
# Shares of the loop's tick that would be saved. Users spend a day's work for about a tenth; a third changes how they
# set up a run.
CRITICAL_SHARE = 0.3
WARNING_SHARE = 0.1
# At 30 Hz, one missed tick in a hundred is one every three seconds; one in ten is three per second.
MISSED_WARNING_SHARE = 0.01
MISSED_CRITICAL_SHARE = 0.1
# A smaller saving is not worth reading about, let alone doing.
MIN_SAVING_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Claim:
    """The maximum saving by a rule; `Context.saving` returns the saving that the loop can have.

    Attributes:
        share: fraction of the mean tick of a loop, of all calls of a section, or of the run.
        path: of the loop, or of the section; "" for the run.
        spares_gpu: whether it also reduces the work of a GPU. Otherwise the GPU limits the saving to its idle time.
    """

    share: float
    path: str = ""
    spares_gpu: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A recommendation or an observation, with its evidence.

    Attributes:
        rule: the name of the rule that reported it; docs/rules has a page of that name.
        path: path of the node that it is about; "" for the run.
        facts: measured values by name, and what the message needs (outputs/sentences): nanoseconds if the name ends in
            `_ns`, bytes in `_bytes`, a fraction in `_share`, a ratio in `_factor`; paths of nodes, and words.
        message: the message of a rule from another distribution; "" for ticktree's rules. It may contain any name that
            the program chose: outputs make such names safe to show.
        kind: a recommendation, a fact about the measurement, or a section that is merely large.
        claim: the maximum saving; None if the rule cannot determine it.
        severity: how much is saved. The registry derives it from `saving` if there is a claim.
        saving: what the loop, or the run, would gain. The registry computes it from `claim`.
        impact: the saved share, by which findings are ordered. The registry computes it, too.
        is_wrong_number: whether a number of this profile cannot be right. Such a finding comes before all
            recommendations, which rely on numbers.
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
        """Path of the loop whose tick would be shorter; None for the run."""
        return self.claim.path if self.claim is not None and self.claim.path else None

    @property
    def saved_share(self) -> float:
        """The saved share of the tick, or of the run; 0 if unknown."""
        return 0.0 if self.saving is None else self.saving.share

    @property
    def rank(self) -> int:
        """Rank of the severity: 0 is the most severe."""
        return SEVERITIES.index(self.severity)


def severity_of(
    share: float, *, warning: float = WARNING_SHARE, critical: float = CRITICAL_SHARE
) -> Severity:
    """Return the severity of a saved share of a tick or of the run, or of another share with other limits."""
    if share >= critical:
        return "critical"
    return "warning" if share >= warning else "info"


def severity_of_missed(share: float) -> Severity:
    """Return the severity of a loop that misses `share` of its ticks."""
    return severity_of(share, warning=MISSED_WARNING_SHARE, critical=MISSED_CRITICAL_SHARE)
