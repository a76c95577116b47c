"""Measure: a number of a node, a loop or a gauge that may have a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ticktree.analysis.budgets.subject import Kind, Subject
from ticktree.analysis.budgets.unit import Unit

# Which end a limit is that does not say: no more than it, no less, or it must say.
Side: TypeAlias = Literal["most", "least", "said"]
NODES: frozenset[Kind] = frozenset({"node", "loop"})
LOOPS: frozenset[Kind] = frozenset({"loop"})
GAUGES: frozenset[Kind] = frozenset({"gauge"})


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that can have a limit.

    Attributes:
        name: the key in the configuration.
        kinds: of what it is a number.
        units: what its limits may be in, the likeliest first.
        side: which end a bare limit is.
        take: the number of a subject, in one of the units.

    Raises:
                NotMeasuredError: There is none.
        quantile: which, where it is one: of a few values one near the end is the end itself.
        is_floor: whether the number of a subject may in truth be larger, never smaller.
    """

    name: str
    kinds: frozenset[Kind]
    units: tuple[Unit, ...]
    side: Side
    take: Callable[[Subject, Unit], float]
    quantile: float | None = None
    is_floor: Callable[[Subject], bool] = lambda _subject: False
