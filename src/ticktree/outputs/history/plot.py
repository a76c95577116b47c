"""The plot: a trend drawn with characters, each run a mark, each stretch of one level a line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from ticktree.analysis.history import Trend
from ticktree.outputs.history import wording
from ticktree.outputs.history.levels import Scale, buckets, scale_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Picture, Tone
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible

ROWS = 10
SPARK_CELLS = 18
_EIGHTHS = "▁▂▃▄▅▆▇█"
_LEAST_CELLS = 20
_MOST_PER_RUN = 3

Cell = tuple[str, Tone]


def spark(trend: Trend) -> str:
    """Return a trend in a few characters."""
    scale = scale_of(trend)
    shown = buckets(trend.values, SPARK_CELLS)
    return "".join(_EIGHTHS[min(7, math.floor(8 * scale.part(value)))] for value in shown)


def plot(trend: Trend, width: int) -> Picture:
    """Return a trend as a picture that is no wider than `width`."""
    return Picture([*_lines(trend, width)])


def _lines(trend: Trend, width: int) -> Iterator[Sequence[Cell]]:
    scale = scale_of(trend)
    marks = {
        row: scale.high - row * (scale.high - scale.low) / (ROWS - 1) for row in (0, ROWS // 2, ROWS - 1)
    }
    labels = {row: formatting.time(ns) for row, ns in marks.items()}
    margin = max(map(len, labels.values()))
    room = max(_LEAST_CELLS, width - margin - 2)
    canvas = _Canvas(trend, scale, room)
    yield [(cut(f"{visible(trend.path)}, {formatting.verdict(trend.verdict)}", width), "strong")]
    for row, cells in enumerate(canvas.rows()):
        yield [
            (f"{labels.get(row, ''):>{margin}} ", "faint"),
            ("┤" if row in labels else "│", "faint"),
            *cells,
        ]
    yield [(" " * (margin + 1) + "└" + "─" * canvas.width, "faint")]
    for line in canvas.below():
        yield [(" " * (margin + 2) + line, "faint")]


class _Canvas:
    """Cells, a column or more a run; where there are more runs than columns, several runs a column."""

    def __init__(self, trend: Trend, scale: Scale, room: int) -> None:
        self.trend, self.scale = trend, scale
        count = len(trend.values)
        self.width = min(room, _MOST_PER_RUN * count)
        self.columns = [math.floor((at + 0.5) * self.width / count) for at in range(count)]
        self.cells: list[list[Cell]] = [[(" ", "plain")] * self.width for _ in range(ROWS)]
        self._draw()

    def rows(self) -> Iterator[Sequence[Cell]]:
        yield from self.cells

    def below(self) -> Iterator[str]:
        """The commits below the places where they changed it, and the first and the last day."""
        labels = [
            (self.columns[turn.change.at], f"^ {wording.commit(turn.run)}") for turn in self.trend.turns
        ]
        while labels:
            line, left = "", []
            for column, label in labels:
                column = min(column, max(0, self.width - cell_len(label)))
                if line and column <= len(line):
                    left.append((column, label))
                else:
                    line = line.ljust(column) + label
            yield line
            labels = left
        first, last = wording.when(self.trend.runs[0])[:10], wording.when(self.trend.runs[-1])[:10]
        yield first + last.rjust(self.width - len(first)) if self.width > len(first + last) else first

    def _draw(self) -> None:
        tones = self._tones()
        for (begin, end, middle), tone in zip(self.trend.stretches, tones, strict=True):
            row = self._row(middle)
            for column in range(self.columns[begin], self.columns[end - 1] + 1):
                self.cells[row][column] = ("─", tone)
        for turn in self.trend.turns:
            for row in range(ROWS):
                self.cells[row][self.columns[turn.change.at]] = ("┊", "faint")
        for (begin, end, _), tone in zip(self.trend.stretches, tones, strict=True):
            for at in range(begin, end):
                ns = self.trend.values[at]
                mark = "●" if not self.scale.is_beyond(ns) else "▲" if ns > self.scale.high else "▼"
                self.cells[self._row(ns)][self.columns[at]] = (mark, tone)

    def _tones(self) -> list[Tone]:
        return ["plain", *("alarm" if turn.change.is_slower else "good" for turn in self.trend.turns)]

    def _row(self, ns: float) -> int:
        return round((ROWS - 1) * (1 - self.scale.part(ns)))
