"""History: how the speed of a program changed over its runs, and with which commit."""

from ticktree.analysis.history.changes import FEWEST, LEVEL, LONGEST, SHORTEST, THRESHOLD, Change, changes
from ticktree.analysis.history.history import (
    ChangePoint,
    Commit,
    Criteria,
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
    "Change",
    "ChangePoint",
    "Commit",
    "Criteria",
    "History",
    "Series",
    "SeriesTrends",
    "Trend",
    "changes",
    "grouped",
    "history",
    "trend_of",
]
