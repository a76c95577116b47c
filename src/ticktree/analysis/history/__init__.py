"""History: how a program did over its runs, and with which commit it changed."""

from ticktree.analysis.history.bursts import LONGEST, SHORTEST
from ticktree.analysis.history.changes import FEWEST, LEVEL, THRESHOLD, Change, changes
from ticktree.analysis.history.history import Commit, History, Told, history
from ticktree.analysis.history.series import Series, grouped
from ticktree.analysis.history.trend import Asked, Trend, Turn, trend_of

__all__ = [
    "FEWEST",
    "LEVEL",
    "LONGEST",
    "SHORTEST",
    "THRESHOLD",
    "Asked",
    "Change",
    "Commit",
    "History",
    "Series",
    "Told",
    "Trend",
    "Turn",
    "changes",
    "grouped",
    "history",
    "trend_of",
]
