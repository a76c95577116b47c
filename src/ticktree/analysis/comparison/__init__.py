"""Comparing runs: is B faster than A, or can one not tell?"""

from ticktree.analysis.comparison.compare import Comparison, compare
from ticktree.analysis.comparison.differences import Difference, differences
from ticktree.analysis.comparison.entry import Entry
from ticktree.analysis.comparison.looks import looks
from ticktree.analysis.comparison.power import Power
from ticktree.analysis.comparison.shift import Shift
from ticktree.analysis.comparison.verdict import THRESHOLD, Verdict

__all__ = [
    "THRESHOLD",
    "Comparison",
    "Difference",
    "Entry",
    "Power",
    "Shift",
    "Verdict",
    "compare",
    "differences",
    "looks",
]
