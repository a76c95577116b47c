"""Comparison of runs: is B faster than A, or is that uncertain?"""

from ticktree.analysis.comparison.compare import Comparison, compare
from ticktree.analysis.comparison.differences import Difference, differences
from ticktree.analysis.comparison.entry import THRESHOLD, ComparisonEntry, Verdict
from ticktree.analysis.comparison.power import Power, looks
from ticktree.analysis.comparison.shift import Shift

__all__ = [
    "THRESHOLD",
    "Comparison",
    "ComparisonEntry",
    "Difference",
    "Power",
    "Shift",
    "Verdict",
    "compare",
    "differences",
    "looks",
]
