"""The history as a page: a figure of each trend and a table of the changes. No script runs in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from ticktree.analysis.history import History, Told, Trend
from ticktree.outputs.comparison.parts import signed
from ticktree.outputs.history import wording
from ticktree.outputs.history.figure import figure, small
from ticktree.outputs.history.parts import last_turn, shown_trends
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible

# Nothing is fetched and nothing runs, whatever a name holds.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_NUMBERS = frozenset(["shift", "interval", "now", "before", "after", "runs"])


def render(history: History, options: ViewOptions) -> bytes:
    """Return the page in UTF-8."""
    return "\n".join(_page(history, options)).encode() + b"\n"


def _page(history: History, options: ViewOptions) -> Iterator[str]:
    style = resources.files("ticktree.outputs.history").joinpath("page.css").read_text("utf-8")
    shown = [told for told in history.told if options.all or told.series.is_current]
    title = ", ".join(dict.fromkeys(wording.title(told) for told in shown)) or "ticktree"
    packed = base64.b64encode(json.dumps(history.to_dict()).encode()).decode("ascii")
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f'<title>{escape(title)}: history</title>\n<link rel="icon" href="data:,">'
    yield f"<style>\n{style}</style>\n</head>\n<body>"
    yield '<header><h1>ticktree history</h1><a download="history.json"'
    yield f' href="data:application/json;base64,{packed}">JSON</a></header>'
    for told in shown:
        yield from _series(told, history, options)
    if not shown:
        yield "<p>No run is remembered yet.</p>"
    elif len(shown) < len(history.told):
        yield f"<p>{escape(wording.hidden(len(history.told) - len(shown)))}</p>"
    yield "</body>\n</html>"


def _series(told: Told, history: History, options: ViewOptions) -> Iterator[str]:
    shown = shown_trends(told, history, options.all)
    machine, *more = map(escape, wording.headline(told))
    yield f"<section><h2>{escape(wording.title(told))} <small>{machine}</small></h2>"
    yield f"<p>{' · '.join(f'<span>{each}</span>' for each in more)}</p>"
    yield from _table(("section", "trend", "verdict", "shift", "interval", "now", "runs"), map(_trend, shown))
    turns = [row for trend in shown for row in _turns(trend, history)]
    if turns:
        yield "<h3>Changes</h3>"
        heads = ("section", "commit", "when", "shift", "interval", "before", "after", "what is known")
        yield from _table(heads, turns)
    for trend in shown:
        verdict = f'<small class="{_class(trend.verdict)}">{formatting.verdict(trend.verdict)}</small>'
        yield f'<h3>{escape(visible(trend.path))}{verdict}</h3><div class="scroll">{figure(trend)}</div>'
    yield f"<p>{escape(' '.join(wording.remarks(history)))}</p></section>"


def _table(heads: Sequence[str], rows: Iterator[list[str]] | Sequence[list[str]]) -> Iterator[str]:
    titles = "".join(f'<th class="{"number" if head in _NUMBERS else "words"}">{head}</th>' for head in heads)
    yield f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>'
    yield from (f"<tr>{''.join(row)}</tr>" for row in rows)
    yield "</tbody></table></div>"


def _trend(trend: Trend) -> list[str]:
    turn, tone = last_turn(trend), _class(trend.verdict)
    name = escape(visible(trend.path)) + (" <small>loop</small>" if trend.is_loop else "")
    cells = [_cell(name, "words"), _cell(small(trend), tone), _cell(formatting.verdict(trend.verdict), tone)]
    shift = "" if turn is None else signed(turn.change.shift.estimate)
    between = "" if turn is None else wording.interval(turn)
    now = formatting.time(round(trend.stretches[-1][2]))
    return [
        *cells,
        _cell(shift, f"number {tone}"),
        *(_cell(words, "number") for words in (between, now, formatting.count(len(trend.values)))),
    ]


def _turns(trend: Trend, history: History) -> Iterator[list[str]]:
    for turn in trend.turns:
        tone = "slower" if turn.change.is_slower else "faster"
        levels = [formatting.time(round(ns)) for ns in (turn.change.before, turn.change.after)]
        known = escape(" · ".join(wording.notes(turn, history)))
        yield [
            _cell(escape(visible(trend.path)), "words"),
            _cell(f"<code>{escape(wording.commit(turn.run))}</code>", ""),
            _cell(wording.when(turn.run), ""),
            _cell(signed(turn.change.shift.estimate), f"number {tone}"),
            *(_cell(words, "number") for words in (wording.interval(turn), *levels)),
            _cell(f"<small>{known}</small>", "words"),
        ]


def _cell(inside: str, name: str) -> str:
    return f'<td class="{name}">{inside}</td>' if name else f"<td>{inside}</td>"


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")
