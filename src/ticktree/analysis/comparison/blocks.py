"""Blocks: one run's calls as a few values that may be taken for independent.

Neighbouring ticks resemble each other: a test that takes them for independent finds a difference between two runs of
the same program in most trials. So the unit is not the tick but a stretch of the run long enough to forget how the
one before it went (batch means). How long that is, is estimated from the run itself: the integrated autocorrelation
time by Geyer's initial positive sequence ("Practical Markov chain Monte Carlo", 1992).
"""

from __future__ import annotations

from ticktree.analysis.drift.noise import autocorrelation_time
from ticktree.analysis.drift.windows import joined, steady_stretches
from ticktree.profile import Node

# Fewer leave an interval without ends: two samples of four are the smallest with a 95% one.
FEWEST = 5
# So many that an interval is as narrow as the data allow, so few that a block is long.
_MOST = 16
# A block as long as this many autocorrelation times keeps little memory of the one before.
_LENGTH_IN_TIMES = 3.0


def block_means(node: Node) -> list[float]:
    """Mean durations, in ns, of stretches of a node's steady calls; too few to compare where the run was too short.

    Args:
        node: Of one run. What was merged from several has no one course over time.
    """
    stretches = steady_stretches(node)
    if len(stretches) < FEWEST:
        return [stretch.mean_ns for stretch in stretches]
    length = max(
        1, round(_LENGTH_IN_TIMES * autocorrelation_time([stretch.mean_ns for stretch in stretches]))
    )
    blocks = min(_MOST, len(stretches) // length)
    return [] if blocks < FEWEST else [block.mean_ns for block in joined(stretches, blocks)]
