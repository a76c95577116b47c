"""Views of checked budgets: those that did not hold, those that did, and what differs from the baseline."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from ticktree.analysis.budgets.check import STATUSES, Checked, Result
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


def verdict(checked: Checked) -> str:
    """Return what became of all of them, such as "2 of 14 budgets failed, 1 not measured"."""
    total = len(checked.results)
    words = {"fail": "failed"}
    numbers = [(len(checked.of(status)), status) for status in STATUSES if status != "pass"]
    bad = [(number, words.get(status) or formatting.verdict(status)) for number, status in numbers if number]
    noun = "budget" if total == 1 else "budgets"
    if not bad:
        return f"{'the' if total == 1 else f'all {total}'} {noun} passed"
    (number, status), *rest = bad
    return ", ".join([f"{number} of {total} {noun} {status}", *(f"{count} {what}" for count, what in rest)])


def line(result: Result) -> str:
    """Return what became of one, such as "control p99: 31.2 ms, budget <= 25.0 ms"."""
    if result.measured is None:
        return f"{name(result)}: {result.note}"
    note = f" ({result.note})" if result.note else ""
    interval = f", {between(result)}" if result.shift else ""
    return f"{name(result)}: {measured(result)}{interval}, budget {limit(result)}{note}"


def name(result: Result) -> str:
    """Return what it is a limit on."""
    return f"{visible(result.path)} {result.budget.measure.name}"


def measured(result: Result) -> str:
    """Return the number; "-" where there is none."""
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
    least, most = text(bound.least), text(bound.most)
    low, _, unit = least.partition(" ")
    return f"{low} to {most}" if unit == most.partition(" ")[2] else f"{least} to {most}"


def between(result: Result) -> str:
    """Return the interval of a shift; "" where there is none."""
    shift = result.shift
    return "" if shift is None or not math.isfinite(shift.high) else interval(shift)


_VERDICT, _BUDGET = Head("verdict", 0, words=True), Head("budget", 0, words=True)
_HEADS = (_VERDICT, Head("measured", 1), _BUDGET, Head("margin", 2))  # the margin is a part of the limit


def parts(checked: Checked, apart: Sequence[Difference], options: ViewOptions) -> Iterator[Part]:
    """Yield what there is to show, top to bottom."""
    together = [f"{checked.runs} runs together"] if checked.runs > 1 else []
    yield Heading(verdict(checked), together)
    if apart:
        yield differences_table(apart)
    shown = [result for result in checked.results if options.all or _is_telling(result)]
    remark = " ".join(_remarks(checked, len(checked.results) - len(shown)))
    passed = [result for result in shown if result.status == "pass"]
    others = [result for result in shown if result.status != "pass"]
    if others:
        yield _table(others, "" if passed else remark)
    if passed:
        yield _table(passed, remark, folded=f"{formatting.counted(len(passed), 'budget')} passed")


def _is_telling(result: Result) -> bool:
    """Not a section of which nothing was asked but that it be no slower than the baseline, and that is none."""
    return not result.of_everything or result.kind == "loop" or result.status == "fail"


def _table(results: Sequence[Result], remark: str, folded: str = "") -> Table:
    title, entries = "passed" if folded else "not passed", [_entry(result) for result in results]
    return Table(title, "budget", _HEADS, entries, remark=remark, folded=folded)


def _entry(result: Result) -> Entry:
    margin = "" if result.margin is None else signed(result.margin)
    cells = (formatting.verdict(result.status), measured(result), limit(result), margin)
    notes = [note for note in (between(result), result.note) if note]
    return Entry(name(result), cells, VERDICT_TONES[result.status], notes=notes)


def _remarks(checked: Checked, hidden: int) -> Iterator[str]:
    if checked.unit:
        yield UNITS[checked.unit]
        yield "A shift breaks its budget when its whole interval lies above it."
    if hidden:
        yield f"{formatting.counted(hidden, 'section')} without a clear slowdown not shown (--all)."
    for number, where in ((checked.only_in_base, "the baseline"), (checked.only_in_new, "this run")):
        if number:
            yield f"{formatting.counted(number, 'section')} only in {where}."


def _json(checked: Checked, apart: Sequence[Difference], _options: ViewOptions) -> bytes:
    facts = [fact.to_dict() for fact in apart]
    return json.dumps({**checked.to_dict(), "differences": facts}, indent=1).encode() + b"\n"


CHECKS: dict[str, Callable[[Checked, Sequence[Difference], ViewOptions], bytes]] = {
    "terminal": lambda checked, apart, options: terminal.draw(parts(checked, apart, options), options),
    "markdown": lambda checked, apart, options: markdown.draw(parts(checked, apart, options)),
    "json": _json,
}
