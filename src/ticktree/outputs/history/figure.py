"""The figure of a trend in SVG: each run a mark that says what it is, each stretch of one level a line."""

from __future__ import annotations

import html
from collections.abc import Iterator

from ticktree.analysis.history import Trend
from ticktree.outputs.history import wording
from ticktree.outputs.history.levels import Scale, scale_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible

_WIDTH, _HEIGHT = 1000, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 12, 22, 28
_SPARK_WIDTH, _SPARK_HEIGHT = 150, 26
_LINES = 4
# A label of a commit is about as wide as this many units; those that would cover one another are left to the table.
_LABEL = 74


def figure(trend: Trend) -> str:
    """Return a trend as an SVG element."""
    drawn = _Figure(trend, scale_of(trend))
    about = html.escape(
        f"{visible(trend.path)} over {len(trend.values)} runs: {formatting.verdict(trend.verdict)}",
        quote=True,
    )
    inside = "\n".join(drawn.parts())
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{about}">\n{inside}\n</svg>'


def small(trend: Trend) -> str:
    """Return a trend as a line without words."""
    scale = scale_of(trend)
    last = max(1, len(trend.values) - 1)
    points = " ".join(
        f"{2 + (_SPARK_WIDTH - 4) * at / last:.1f},{2 + (_SPARK_HEIGHT - 4) * (1 - scale.part(ns)):.1f}"
        for at, ns in enumerate(trend.values)
    )
    return (
        f'<svg class="spark" viewBox="0 0 {_SPARK_WIDTH} {_SPARK_HEIGHT}" aria-hidden="true">'
        f'<polyline points="{points}" fill="none" stroke="currentcolor" stroke-width="1.5"/></svg>'
    )


class _Figure:
    def __init__(self, trend: Trend, scale: Scale) -> None:
        self.trend, self.scale = trend, scale
        self.step = (_WIDTH - _LEFT - _RIGHT) / len(trend.values)

    def parts(self) -> Iterator[str]:
        yield from self._axes()
        yield from self._changes()
        for tone, (begin, end, middle) in zip(self._tones(), self.trend.stretches, strict=True):
            yield f'<g class="{tone}">'
            yield self._line("level", self._left(begin), self._y(middle), self._left(end), self._y(middle))
            yield from (self._run(at) for at in range(begin, end))
            yield "</g>"

    def _tones(self) -> list[str]:
        return ["", *("slower" if turn.change.is_slower else "faster" for turn in self.trend.turns)]

    def _axes(self) -> Iterator[str]:
        for number in range(_LINES + 1):
            ns = self.scale.low + (self.scale.high - self.scale.low) * number / _LINES
            y = self._y(ns)
            yield self._line("grid", _LEFT, y, _WIDTH - _RIGHT, y)
            yield self._text(_LEFT - 8, y + 4, formatting.time(round(ns)), anchor="end")
        runs = self.trend.runs
        yield self._text(_LEFT, _HEIGHT - 8, wording.when(runs[0]))
        yield self._text(_WIDTH - _RIGHT, _HEIGHT - 8, wording.when(runs[-1]), anchor="end")

    def _changes(self) -> Iterator[str]:
        free = 0.0
        for tone, turn in zip(self._tones()[1:], self.trend.turns, strict=True):
            x = self._left(turn.change.at)
            yield self._line("change", x, _TOP - 6, x, _HEIGHT - _BOTTOM)
            label = min(x, _WIDTH - _RIGHT - _LABEL)
            if label >= free:
                yield f'<g class="{tone}">{self._text(label, 12, wording.commit(turn.run), extra="at")}</g>'
                free = label + _LABEL

    def _run(self, at: int) -> str:
        run, ns = self.trend.runs[at], self.trend.values[at]
        words = (
            f"{formatting.time(round(ns))}, {wording.when(run)}, {wording.commit(run)}, {visible(run.folder)}"
        )
        x, y = self._left(at) + self.step / 2, self._y(ns)
        radius = max(1.5, min(4.0, self.step / 2))
        shape = f'<circle class="run" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
        if self.scale.is_beyond(ns):  # at the edge, and pointing over it
            tip = -5 if ns > self.scale.high else 5
            corners = f"M{x - 4:.1f} {y:.1f}h8l-4 {tip}z"
            return f'<path class="run" d="{corners}"><title>{html.escape(words)}</title></path>'
        return f"{shape}<title>{html.escape(words)}</title></circle>"

    def _left(self, at: int) -> float:
        return _LEFT + at * self.step

    def _y(self, ns: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - self.scale.part(ns))

    @staticmethod
    def _line(name: str, x1: float, y1: float, x2: float, y2: float) -> str:
        return f'<line class="{name}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'

    @staticmethod
    def _text(x: float, y: float, words: str, anchor: str = "start", extra: str = "") -> str:
        named = f' class="{extra}"' if extra else ""
        return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'
