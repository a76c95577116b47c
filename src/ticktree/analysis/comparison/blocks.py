"""Blocks: one run's calls as a few values.

Neighbouring ticks resemble each other: a test that takes them for independent finds a difference between two runs of
the same program in most trials. So the unit is not the tick but a stretch of the run (batch means), and what a run is
known by is how much its stretches scatter. So few of them, and so long, that what lasts for a while is in their
scatter; so many that the scatter is known.
"""

from __future__ import annotations

from ticktree.analysis.drift.windows import joined, steady_stretches
from ticktree.profile import Node

BLOCKS = 12


def block_means(node: Node) -> list[float]:
    """Mean durations, in ns, of equal stretches of a node's steady calls; none where the run was too short for them.

    Args:
        node: Of one run. What was merged from several has no one course over time.
    """
    stretches = steady_stretches(node)
    return [block.mean_ns for block in joined(stretches, BLOCKS)] if len(stretches) >= BLOCKS else []
