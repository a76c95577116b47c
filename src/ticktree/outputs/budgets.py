"""Views of checked budgets: those that failed, those that passed, and what differs from the baseline."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from ticktree.analysis.budgets.check import STATUSES, CheckReport, Result
from ticktree.analysis.comparison.differences import Difference
from ticktree.analysis.quantities import Unit
from ticktree.outputs import markdown, terminal
from ticktree.outputs.comparison import UNITS, differences_table, interval, signed
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import VERDICT_TONES, Entry, Head, Heading, Part, Table
from ticktree.outputs.writing.visible import visible

_FORMATS: Mapping[Unit, Callable[[float], str]] = {
    "ns": formatting.time,
    "share": formatting.share,
    "count": lambda value: formatting.count(int(value)),
    "Hz": formatting.hertz,
    "bytes": formatting.size,
    "bytes/s": lambda value: formatting.scaled(value, "B/s"),
    "FLOP/s": lambda value: formatting.scaled(value, "FLOP/s"),
    "items/s": lambda value: f"{formatting.reading(value)} items/s",
    "number": formatting.reading,
}


def verdict(checked: CheckReport) -> str:
    """Return the results in a few words, such as "2 of 14 budgets failed, 1 not measured"."""
    total = len(checked.results)
    noun = "budget" if total == 1 else "budgets"
    counts = [(len(checked.of(status)), status) for status in STATUSES if status != "pass"]
    failures = [
        (n, "failed" if status == "fail" else formatting.verdict(status)) for n, status in counts if n
    ]
    if not failures:
        return f"{'the' if total == 1 else f'all {total}'} {noun} passed"
    (number, label), *tail = failures
    return ", ".join([f"{number} of {total} {noun} {label}", *(f"{count} {label}" for count, label in tail)])


def result_line(result: Result) -> str:
    """Return a result as a line, such as "control p99: 31.2 ms, budget <= 25.0 ms"."""
    if result.measured is None:
        return f"{name(result)}: {result.note}"
    note = f" ({result.note})" if result.note else ""
    shift = f", {shift_interval(result)}" if result.shift else ""
    return f"{name(result)}: {measurement(result)}{shift}, budget {limit(result)}{note}"


def name(result: Result) -> str:
    """Return the section and the measure that the budget limits."""
    return f"{visible(result.path)} {result.budget.measure.name}"


def measurement(result: Result) -> str:
    """Return the measured value; "-" without one."""
    if result.measured is None:
        return formatting.ABSENT
    if result.shift is not None:
        return signed(result.measured)
    return _FORMATS[result.budget.unit](result.measured)


def limit(result: Result) -> str:
    """Return the limit: "<= 25.0 ms", ">= 29.0 Hz", "80.0 to 200 ms"."""
    bound, text = result.budget.bound, _FORMATS[result.budget.unit]
    if bound.least is None:
        return f"<= {text(bound.most or 0)}"
    if bound.most is None:
        return f">= {text(bound.least)}"
    low, high = text(bound.least), text(bound.most)
    number, _, unit = low.partition(" ")
    return f"{number if unit == high.partition(' ')[2] else low} to {high}"


def shift_interval(result: Result) -> str:
    """Return the interval of a shift; "" without one."""
    shift = result.shift
    return "" if shift is None or not math.isfinite(shift.high) else interval(shift)


_VERDICT, _BUDGET = Head("verdict", 0, words=True), Head("budget", 0, words=True)
_HEADS = (_VERDICT, Head("measured", 1), _BUDGET, Head("margin", 2))  # the margin is a part of the limit


def parts(checked: CheckReport, facts: Sequence[Difference], options: ViewOptions) -> Iterator[Part]:
    """Yield the parts of the view, top to bottom."""
    pieces = [f"{checked.runs} runs together"] if checked.runs > 1 else []
    yield Heading(verdict(checked), pieces)
    if facts:
        yield differences_table(facts)
    results = [result for result in checked.results if options.all or _is_relevant(result)]
    remark = " ".join(_remarks(checked, len(checked.results) - len(results)))
    passes = [result for result in results if result.status == "pass"]
    failures = [result for result in results if result.status != "pass"]
    if failures:
        yield _table(failures, "" if passes else remark)
    if passes:
        yield _table(passes, remark, folded=f"{formatting.counted(len(passes), 'budget')} passed")


def _is_relevant(result: Result) -> bool:
    """Return False for a section whose only budget is to be no slower than the baseline, and that passed."""
    return not result.of_everything or result.kind == "loop" or result.status == "fail"


def _table(results: Sequence[Result], remark: str, folded: str = "") -> Table:
    title, entries = "passed" if folded else "not passed", [_entry(result) for result in results]
    return Table(title, "budget", _HEADS, entries, remark=remark, folded=folded)


def _entry(result: Result) -> Entry:
    margin = "" if result.margin is None else signed(result.margin)
    cells = (formatting.verdict(result.status), measurement(result), limit(result), margin)
    notes = [note for note in (shift_interval(result), result.note) if note]
    return Entry(name(result), cells, VERDICT_TONES[result.status], notes=notes)


def _remarks(checked: CheckReport, hidden: int) -> Iterator[str]:
    if checked.unit:
        yield UNITS[checked.unit]
        yield "A shift breaks its budget when its whole interval lies above it."
    if hidden:
        yield f"{formatting.counted(hidden, 'section')} without a clear slowdown not shown (--all)."
    for number, side in ((checked.only_in_base, "the baseline"), (checked.only_in_new, "this run")):
        if number:
            yield f"{formatting.counted(number, 'section')} only in {side}."


def _json(checked: CheckReport, facts: Sequence[Difference], _options: ViewOptions) -> bytes:
    document = {**checked.to_dict(), "differences": [fact.to_dict() for fact in facts]}
    return json.dumps(document, indent=1).encode() + b"\n"


CHECKS: dict[str, Callable[[CheckReport, Sequence[Difference], ViewOptions], bytes]] = {
    "terminal": lambda checked, facts, options: terminal.draw(parts(checked, facts, options), options),
    "markdown": lambda checked, facts, options: markdown.draw(parts(checked, facts, options)),
    "json": _json,
}
