"""Settling: accounts that add up, from totals that need not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settled:
    """A node's own time and its children's concurrent times, such that its total is what it should be.

    Attributes:
        self_ns: its own time.
        concurrent_ns: of the children that have any, by name.
        wrong: what is wrong with the own time that was given, as a loss is called; None where nothing is.
    """

    self_ns: int
    concurrent_ns: Mapping[str, int] = field(default_factory=dict)
    wrong: str | None = None


def settle(
    total_ns: int,
    self_ns: int | None,
    children_ns: Mapping[str, int],
    beside: Collection[str],
    *,
    trusted: bool = False,
) -> Settled:
    """Settle a node's account. A child's time above its parent's becomes concurrent time.

    All numbers were rounded one by one: what differs by no more than that differs by nothing.

    Args:
        total_ns: the node's total.
        self_ns: what it says its own time is; None where it says nothing.
        children_ns: the children's totals.
        beside: the children that are known to have run beside the node.
        trusted: whether the own time was measured, and is not what is left of the total or of a negative number.
    """
    together_ns = sum(children_ns.values())
    rounding_ns = len(children_ns) + 2 + (max(total_ns, together_ns) >> 50)
    if self_ns is None:
        self_ns = max(0, total_ns - together_ns)
    wrong = None
    if self_ns < -rounding_ns:
        wrong = "negative_self_times"
    elif self_ns > total_ns + rounding_ns:
        wrong = "self_times_that_do_not_add_up"
    self_ns = min(max(self_ns, 0), total_ns)
    over_ns = self_ns + together_ns - total_ns
    if over_ns < -rounding_ns:
        return Settled(total_ns - together_ns, wrong=wrong or "self_times_that_do_not_add_up")
    if over_ns <= rounding_ns:
        return Settled(max(0, total_ns - together_ns), wrong=wrong)
    covering_ns = sum(ns for name, ns in children_ns.items() if name not in beside)
    if beside and self_ns <= rounding_ns and not trusted and covering_ns <= total_ns:
        # Other processes and threads take nothing of the node's time; that they did is what made it 0.
        return Settled(total_ns - covering_ns, {name: children_ns[name] for name in beside}, wrong)
    if together_ns - covering_ns < over_ns and not trusted:  # more than what ran beside it explains
        wrong = wrong or ("self_times_that_do_not_add_up" if self_ns > rounding_ns else "negative_self_times")
    return Settled(self_ns, _shared(over_ns, children_ns, beside), wrong)


def _shared(over_ns: int, children_ns: Mapping[str, int], beside: Collection[str]) -> dict[str, int]:
    """Return whose time `over_ns` is: that of children that ran beside the node first, then of the longest."""
    concurrent_ns: dict[str, int] = {}
    for name in sorted(children_ns, key=lambda name: (name not in beside, -children_ns[name], name)):
        concurrent_ns[name] = min(over_ns, children_ns[name])
        over_ns -= concurrent_ns[name]
    return {name: ns for name, ns in concurrent_ns.items() if ns}
