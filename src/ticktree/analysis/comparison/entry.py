"""ComparisonEntry: the verdict on one node or loop; About: the runs of one side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from ticktree.analysis.comparison.power import Power
from ticktree.analysis.comparison.shift import Shift
from ticktree.profile import Profile, Stats
from ticktree.profile.metadata import Metadata, merge_metadata, ordered


@dataclass(frozen=True, slots=True)
class RunsInfo:
    """The runs of one side.

    Attributes:
        runs: how many.
        metadata: the merged metadata of all runs.
    """

    runs: int = 0
    metadata: Metadata = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the runs."""
        return [str(name) for name in ordered(self.metadata.get("name", ()))]

    def to_dict(self) -> dict[str, Any]:
        """Return its fields for `compare --format json`."""
        return {"names": self.names, "runs": self.runs}


def about(runs: Sequence[Profile]) -> RunsInfo:
    """Return the description of `runs`."""
    return RunsInfo(len(runs), merge_metadata(*(run.metadata for run in runs)))


Verdict: TypeAlias = Literal[
    "faster", "slower", "no difference", "inconclusive", "only in base", "only in new"
]

# No user changes a program for two percent, and two builds of the same code differ by more (Mytkowicz et al.,
# "Producing wrong data without doing anything obviously wrong!", 2009).
THRESHOLD = 0.02


def verdict_of(shift: Shift, threshold: float = THRESHOLD) -> Verdict:
    """Return the verdict on a shift of durations.

    "no difference" needs evidence just as "slower" does: an interval within the threshold. A shift that is certain but
    too small to matter is "no difference" as well.
    """
    if -threshold < shift.low and shift.high < threshold:
        return "no difference"
    if shift.low > 0 and shift.estimate >= threshold:
        return "slower"
    if shift.high < 0 and shift.estimate <= -threshold:
        return "faster"
    return "inconclusive"


Kind: TypeAlias = Literal["node", "loop"]
Rates: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonEntry:
    """The comparison of one node or loop.

    Attributes:
        path: of the node, or of the loop's node.
        kind: whether it is a node or a loop.
        verdict: the verdict on the shift.
        shift: of a call's mean duration, from base to new; None if one side has no calls.
        base: its steady calls in all base runs.
        new: its steady calls in all new runs.
        units: how many independent values each side has: runs, or blocks of one run.
        rates: per second, for each side: `ticks` of a loop, declared `bytes`, `flops` and `items`.
        power: what the pairs could have detected; None without pairs, or if the verdict is not inconclusive.
        renamed: the path of what seems to be the same node on the other side, under another name; "" if there is none.
    """

    path: str
    kind: Kind
    verdict: Verdict
    shift: Shift | None
    base: Stats
    new: Stats
    units: tuple[int, int] = (0, 0)
    rates: tuple[Rates, Rates] = (MappingProxyType({}), MappingProxyType({}))
    power: Power | None = None
    renamed: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return its fields for `compare --format json`; null where there is no number."""
        shift = self.shift
        fields: dict[str, Any] = {
            "path": self.path,
            "kind": self.kind,
            "verdict": self.verdict,
            "shift_percent": _percent(shift.estimate) if shift else None,
            "low_percent": _percent(shift.low) if shift and math.isfinite(shift.high) else None,
            "high_percent": _percent(shift.high) if shift else None,
            "base_mean_ns": self.base.mean_ns,
            "new_mean_ns": self.new.mean_ns,
            "base": _side(self.base, self.units[0], self.rates[0]),
            "new": _side(self.new, self.units[1], self.rates[1]),
        }
        if self.power:
            fields["detectable_percent"] = _percent(self.power.shift)
            fields["pairs_for_5_percent"] = self.power.pairs_needed
        return {**fields, "renamed": self.renamed} if self.renamed else fields


def _percent(part: float) -> float | None:
    return round(100 * part, 4) if math.isfinite(part) else None


def _side(stats: Stats, units: int, rates: Rates) -> dict[str, int | float | None]:
    per_s = {f"{unit}_per_s": round(rate, 4) for unit, rate in rates.items()}
    return {"count": stats.count, "min_ns": stats.min_ns, "max_ns": stats.max_ns, "units": units, **per_s}
