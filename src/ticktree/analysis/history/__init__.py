"""History: how a program did over its runs, and with which commit it changed."""

from ticktree.analysis.history.changes import FEWEST, LEVEL, LONGEST, SHORTEST, THRESHOLD, Change, changes
from ticktree.analysis.history.history import (
    Asked,
    Commit,
    History,
    Series,
    Told,
    Trend,
    Turn,
    grouped,
    history,
    trend_of,
)

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
