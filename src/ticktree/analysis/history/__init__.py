"""History: how a program did over its runs, and with which commit it changed."""

from ticktree.analysis.history.changes import FEWEST, LEVEL, LONGEST, SHORTEST, THRESHOLD, Change, changes
from ticktree.analysis.history.history import (
    Asked,
    ChangePoint,
    Commit,
    History,
    Series,
    SeriesTrends,
    Trend,
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
    "ChangePoint",
    "Commit",
    "History",
    "Series",
    "SeriesTrends",
    "Trend",
    "changes",
    "grouped",
    "history",
    "trend_of",
]
