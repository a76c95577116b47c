"""Bars: a share as a length, drawn with block characters."""

from __future__ import annotations

BAR_CELLS = 8

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float | None) -> str:
    """Return a bar as long as `share` of its cells, to an eighth of a cell; of more than all, a full one."""
    eighths = round(min(max(share or 0.0, 0.0), 1.0) * BAR_CELLS * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
