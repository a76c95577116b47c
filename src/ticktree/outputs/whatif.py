"""Results of experiments: a table for a terminal, a page with a curve for each section, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from html import escape

from ticktree.analysis.experiments.deadlines import PredictedMisses
from ticktree.analysis.experiments.estimates import Experiments, Prediction, Slope
from ticktree.outputs import terminal
from ticktree.outputs.html.static import Plane, html_table, line, mark, scrolled, static_page, text
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import VERDICT_TONES, Entry, Head, Heading, Lines, Part, Table, Tone
from ticktree.outputs.writing.visible import visible

SCHEMA = "ticktree-whatif/1"

_GAIN = (Head("faster by", 0), Head("gain", 0), Head("95% interval", 1), Head("Amdahl", 2))
_FASTER = (*_GAIN, Head("verdict", 0, words=True))
_SLOWER = (Head("slower by", 0), Head("loss", 0), Head("95% interval", 1), Head("per ms added", 2))
_MISSES = (Head("faster by", 0), Head("missed now", 0), Head("would be missed", 0))


def _json(found: Experiments, _options: ViewOptions) -> bytes:
    results = [
        {key: round(part, 3) if isinstance(part, float) else part for key, part in asdict(each).items()}
        for each in found.predictions
    ]
    document = {"schema": SCHEMA, "results": results}
    if found.misses:
        document["misses"] = [asdict(each) for each in found.misses]
    return json.dumps(document, indent=1).encode() + b"\n"


def _html(found: Experiments, options: ViewOptions) -> bytes:
    title = f"{visible(found.loop)}: what if"
    return static_page(title, "ticktree whatif", ("whatif.json", _json(found, options)), _page(found))


WHATIFS: dict[str, Callable[[Experiments, ViewOptions], bytes]] = {
    "terminal": lambda found, options: terminal.draw(_parts(found), options),
    "html": _html,
    "json": _json,
}


def _parts(found: Experiments) -> Iterator[Part]:
    yield Heading("ticktree whatif", [f"ticks of {visible(found.loop)}", *_about(found)])
    yield from _tables(found)
    yield from (Lines([[note]], is_apart=False) for note in found.notes)


def _about(found: Experiments) -> list[str]:
    tick = [formatting.time(found.tick_ns)] if found.tick_ns else []
    return tick + ([formatting.counted(found.blocks, "block")] if found.blocks else [])


def _tables(found: Experiments) -> Iterator[Table]:
    rows: Sequence[Prediction | PredictedMisses] = found.misses or found.predictions
    before = ["", *(each.path for each in rows)]
    entries = [
        _faster(each, "" if each.path == last else visible(each.path))
        for each, last in zip(rows, before, strict=False)
    ]
    yield Table("if a section were faster", "section", _MISSES if found.misses else _FASTER, entries)
    if found.slopes:
        slower = [_slower(each) for each in found.slopes.values()]
        yield Table("if it were slower", "section", _SLOWER, slower)


def _faster(each: Prediction | PredictedMisses, name: str) -> Entry:
    if isinstance(each, Prediction):
        cells: tuple[str, ...] = (
            f"{each.speedup_percent}%",
            percent(each.gain_percent),
            interval(each.low_percent, each.high_percent),
            percent(each.amdahl_percent),
            each.verdict,
        )
        return Entry(name, cells, VERDICT_TONES.get(each.verdict, "plain"), path=each.path)
    missed, then = (
        f"{formatting.count(number)} of {formatting.count(each.ticks)}"
        for number in (each.missed, each.predicted_missed)
    )
    tone: Tone = "good" if each.predicted_missed < each.missed else "plain"
    return Entry(name, (f"{each.speedup_percent}%", missed, then), tone, path=each.path)


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


def _page(found: Experiments) -> Iterator[str]:
    yield f"<h2>ticks of {escape(visible(found.loop))} <small>{' · '.join(_about(found))}</small></h2>"
    yield from (f"<p>{escape(note)}</p>" for note in found.notes)
    for table in _tables(found):
        yield from html_table(table)
    if found.misses or not found.tick_ns:
        return
    for path in dict.fromkeys(each.path for each in found.predictions):
        points = [each for each in found.predictions if each.path == path and each.gain_percent is not None]
        if points:
            verdicts = ", ".join(dict.fromkeys(each.verdict for each in points))
            yield f"<h3>{escape(visible(path))}<small>{verdicts}</small></h3>"
            yield f"{scrolled(f'Chart: {visible(path)}')}{_curve(path, points, found.tick_ns)}</div>"
    yield "<p>The mean tick by how much faster each section is, with 95% intervals; "
    yield "dashed: Amdahl's law if the whole program waits for the section.</p>"


def _curve(path: str, points: Sequence[Prediction], tick_ns: float) -> str:
    """Return a section's curve, virtual speed-up against the tick, as an SVG element."""
    most = max([0.0, *(-(each.low_percent or 0.0) for each in points)])  # in percent above today's tick
    parts = list(_PLANE.grid(0, tick_ns * (1 + most / 100)))
    for speedup in range(0, 101, 25):
        words = f"{speedup}% faster" if speedup else "unchanged"
        parts.append(text(_x(speedup), _PLANE.height - 10, words, "middle"))
    bound = points[-1].amdahl_percent / points[-1].speedup_percent * 100
    parts.append(line("change", _x(0), _y(0, most), _x(100), _y(bound, most)))
    curve = " ".join(
        f"{_x(each.speedup_percent):.1f},{_y(each.gain_percent or 0.0, most):.1f}" for each in points
    )
    parts.append(f'<polyline class="level" fill="none" points="{_x(0):.1f},{_y(0, most):.1f} {curve}"/>')
    for each in points:
        x = _x(each.speedup_percent)
        if each.low_percent is not None and each.high_percent is not None:
            parts.append(line("level", x, _y(each.low_percent, most), x, _y(each.high_percent, most)))
        label = f"{each.speedup_percent}% faster: {percent(each.gain_percent)}"
        label += f" ({interval(each.low_percent, each.high_percent)})"
        parts.append(mark(x, _y(each.gain_percent or 0.0, most), 4, label))
    return _PLANE.svg(f"{visible(path)}: tick by speed-up", parts)


def _x(speedup: float) -> float:
    return _PLANE.x(speedup / 100)


def _y(gain: float, most: float) -> float:
    return _PLANE.y((100 - gain) / (100 + most))
