"""Results of results: a table for a terminal, a page with a curve per section, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from html import escape

from ticktree.analysis.experiments.deadlines import PredictedMisses
from ticktree.analysis.experiments.estimates import Experiments, Prediction, Slope
from ticktree.outputs import terminal
from ticktree.outputs.html.static import Plane, html_table, line, mark, open_scroll_box, static_page, text
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import VERDICT_TONES, Entry, Head, Heading, Lines, Part, Table, Tone
from ticktree.outputs.writing.visible import visible

SCHEMA = "ticktree-whatif/1"

_GAIN = (Head("faster by", 0), Head("gain", 0), Head("95% interval", 1), Head("Amdahl", 2))
_FASTER = (*_GAIN, Head("verdict", 0, words=True))
_SLOWER = (Head("slower by", 0), Head("loss", 0), Head("95% interval", 1), Head("per ms added", 2))
_MISSES = (Head("faster by", 0), Head("missed now", 0), Head("would be missed", 0))


def _json(results: Experiments, _options: ViewOptions) -> bytes:
    predictions = [
        {key: round(part, 3) if isinstance(part, float) else part for key, part in asdict(prediction).items()}
        for prediction in results.predictions
    ]
    document = {"schema": SCHEMA, "results": predictions}
    if results.misses:
        document["misses"] = [asdict(prediction) for prediction in results.misses]
    return json.dumps(document, indent=1).encode() + b"\n"


def _html(results: Experiments, options: ViewOptions) -> bytes:
    title = f"{visible(results.loop)}: what if"
    return static_page(title, "ticktree whatif", ("whatif.json", _json(results, options)), _page(results))


WHATIFS: dict[str, Callable[[Experiments, ViewOptions], bytes]] = {
    "terminal": lambda results, options: terminal.draw(_parts(results), options),
    "html": _html,
    "json": _json,
}


def _parts(results: Experiments) -> Iterator[Part]:
    yield Heading("ticktree whatif", [f"ticks of {visible(results.loop)}", *_facts(results)])
    yield from _tables(results)
    yield from (Lines([[note]], is_apart=False) for note in results.notes)


def _facts(results: Experiments) -> list[str]:
    tick = [formatting.time(results.tick_ns)] if results.tick_ns else []
    return tick + ([formatting.counted(results.blocks, "block")] if results.blocks else [])


def _tables(results: Experiments) -> Iterator[Table]:
    rows: Sequence[Prediction | PredictedMisses] = results.misses or results.predictions
    previous = ["", *(row.path for row in rows)]
    entries = [
        _faster(row, "" if row.path == last else visible(row.path))
        for row, last in zip(rows, previous, strict=False)
    ]
    yield Table("if a section were faster", "section", _MISSES if results.misses else _FASTER, entries)
    if results.slopes:
        slower = [_slower(row) for row in results.slopes.values()]
        yield Table("if it were slower", "section", _SLOWER, slower)


def _faster(row: Prediction | PredictedMisses, name: str) -> Entry:
    if isinstance(row, Prediction):
        cells: tuple[str, ...] = (
            f"{row.speedup_percent}%",
            percent(row.gain_percent),
            interval(row.low_percent, row.high_percent),
            percent(row.amdahl_percent),
            row.verdict,
        )
        return Entry(name, cells, VERDICT_TONES.get(row.verdict, "plain"), path=row.path)
    now, predicted = (
        f"{formatting.count(number)} of {formatting.count(row.ticks)}"
        for number in (row.missed, row.predicted_missed)
    )
    tone: Tone = "good" if row.predicted_missed < row.missed else "plain"
    return Entry(name, (f"{row.speedup_percent}%", now, predicted), tone, path=row.path)


def _slower(slope: Slope) -> Entry:
    cells = (
        f"{slope.slower_percent}%",
        percent(slope.loss_percent),
        interval(slope.low_percent, slope.high_percent),
        formatting.ABSENT if slope.critical is None else f"{max(0.0, slope.critical):.2f} ms",
    )
    return Entry(visible(slope.path), cells, path=slope.path)


def percent(value: float | None) -> str:
    """Return a percentage with one decimal; "-" for None."""
    if value is None:
        return formatting.ABSENT
    text = f"{value:.1f}%"
    return "0.0%" if text == "-0.0%" else text.replace("-", "\N{MINUS SIGN}")


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of percentages; "-" if an end is unknown."""
    return formatting.ABSENT if low is None or high is None else f"{percent(low)} to {percent(high)}"


# -- the page ----------------------------------------------------------------------------------------------------

_PLANE = Plane(height=240, left=72, right=44, top=14, bottom=30)


def _page(results: Experiments) -> Iterator[str]:
    yield f"<h2>ticks of {escape(visible(results.loop))} <small>{' · '.join(_facts(results))}</small></h2>"
    yield from (f"<p>{escape(note)}</p>" for note in results.notes)
    for table in _tables(results):
        yield from html_table(table)
    if results.misses or not results.tick_ns:
        return
    for path in dict.fromkeys(prediction.path for prediction in results.predictions):
        predictions = (point for point in results.predictions if point.path == path)
        points = [point for point in predictions if point.gain_percent is not None]
        if points:
            verdicts = ", ".join(dict.fromkeys(point.verdict for point in points))
            yield f"<h3>{escape(visible(path))}<small>{verdicts}</small></h3>"
            yield f"{open_scroll_box(f'Chart: {visible(path)}')}{_curve(path, points, results.tick_ns)}</div>"
    yield "<p>The mean tick by how much faster each section is, with 95% intervals; "
    yield "dashed: Amdahl's law if the whole program waits for the section.</p>"


def _curve(path: str, points: Sequence[Prediction], tick_ns: float) -> str:
    """Return a section's curve, virtual speed-up against the tick, as an SVG element."""
    loss = max([0.0, *(-(point.low_percent or 0.0) for point in points)])  # in percent above today's tick
    parts = list(_PLANE.grid(0, tick_ns * (1 + loss / 100)))
    for speedup in range(0, 101, 25):
        label = f"{speedup}% faster" if speedup else "unchanged"
        parts.append(text(_x(speedup), _PLANE.height - 10, label, "middle"))
    bound = points[-1].amdahl_percent / points[-1].speedup_percent * 100
    parts.append(line("change", _x(0), _y(0, loss), _x(100), _y(bound, loss)))
    curve = " ".join(
        f"{_x(point.speedup_percent):.1f},{_y(point.gain_percent or 0.0, loss):.1f}" for point in points
    )
    parts.append(f'<polyline class="level" fill="none" points="{_x(0):.1f},{_y(0, loss):.1f} {curve}"/>')
    for point in points:
        x = _x(point.speedup_percent)
        if point.low_percent is not None and point.high_percent is not None:
            parts.append(line("level", x, _y(point.low_percent, loss), x, _y(point.high_percent, loss)))
        label = f"{point.speedup_percent}% faster: {percent(point.gain_percent)}"
        label += f" ({interval(point.low_percent, point.high_percent)})"
        parts.append(mark(x, _y(point.gain_percent or 0.0, loss), 4, label))
    return _PLANE.svg(f"{visible(path)}: tick by speed-up", parts)


def _x(speedup: float) -> float:
    return _PLANE.x(speedup / 100)


def _y(gain: float, loss: float) -> float:
    return _PLANE.y((100 - gain) / (100 + loss))
