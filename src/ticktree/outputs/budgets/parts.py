"""What a check shows: what differs from the baseline's runs, the budgets that did not hold, and those that did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticktree.analysis.budgets import Checked, Result, Status
from ticktree.analysis.comparison import Difference
from ticktree.outputs.budgets import wording
from ticktree.outputs.comparison.parts import UNITS, different
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Head, Heading, Part, Table, Tone

_HEADS = (
    Head("verdict", 0, words=True),
    Head("measured", 1),
    Head("budget", 0, words=True),
    Head("margin", 2),
)
_TONES: dict[Status, Tone] = {
    "broken": "alarm",
    "not measured": "alarm",
    "inconclusive": "faint",
    "held": "good",
}


def parts(checked: Checked, apart: Sequence[Difference], options: ViewOptions) -> Iterator[Part]:
    """Yield what there is to show, top to bottom.

    Args:
        checked: What became of the budgets.
        apart: Facts that the baseline's runs do not share with these.
        options: How to show it.
    """
    together = [f"{checked.runs} runs together"] if checked.runs > 1 else []
    yield Heading(wording.verdict(checked), together)
    if apart:
        yield different(apart)
    shown = [result for result in checked.results if options.all or _is_telling(result)]
    remark = " ".join(_remarks(checked, len(checked.results) - len(shown)))
    open_, held = (
        [result for result in shown if (result.status == "held") is is_held] for is_held in (False, True)
    )
    if open_:
        yield _table(open_, "" if held else remark)
    if held:
        folded = f"{formatting.counted(len(held), 'budget')} held"
        yield _table(held, remark, folded)


def _is_telling(result: Result) -> bool:
    """Not a section of which nothing was asked but that it be no slower than the baseline, and that is none."""
    return not result.of_everything or result.kind == "loop" or result.status == "broken"


def _table(results: Sequence[Result], remark: str, folded: str = "") -> Table:
    title = "held" if folded else "not held"
    return Table(
        title, "budget", _HEADS, [_entry(result) for result in results], remark=remark, folded=folded
    )


def _entry(result: Result) -> Entry:
    cells = (
        formatting.verdict(result.status),
        wording.measured(result),
        wording.limit(result),
        wording.margin(result),
    )
    notes = [note for note in (wording.between(result), result.note) if note]
    return Entry(wording.name(result), cells, _TONES[result.status], notes=notes)


def _remarks(checked: Checked, hidden: int) -> Iterator[str]:
    if checked.unit:
        yield UNITS[checked.unit]
        yield "A shift breaks its budget when its whole interval lies above it."
    if hidden:
        yield f"{formatting.counted(hidden, 'section')} without a clear slowdown not shown (--all)."
    for number, where in ((checked.only_in_base, "the baseline"), (checked.only_in_new, "this run")):
        if number:
            yield f"{formatting.counted(number, 'section')} only in {where}."
