"""Views of a comparison: what else differs, the loops, and the sections with a result."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ticktree.analysis.comparison.compare import Comparison
from ticktree.analysis.comparison.differences import Difference
from ticktree.analysis.comparison.entry import ComparisonEntry
from ticktree.analysis.comparison.power import SHIFT
from ticktree.analysis.comparison.shift import Shift
from ticktree.outputs import markdown, terminal
from ticktree.outputs.html.embedding import page
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.recursion import deeper_levels
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import VERDICT_TONES, Entry, Head, Heading, Part, Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Stats
from ticktree.profile import path as paths
from ticktree.profile.metadata import ordered

_SHIFT_HEADS = (Head("verdict", 0, words=True), Head("shift", 0), Head("interval", 1))
_VERDICT_HEADS = (*_SHIFT_HEADS, Head("base", 0), Head("new", 0))
# The other values of a loop are in lines below its row, one per side, at every width.
_LOOP_HEADS = (*_VERDICT_HEADS, Head("ticks", 4))
_EXTREME_HEADS = (Head("base min", 4), Head("new min", 4), Head("base max", 3), Head("new max", 3))
_NODE_HEADS = (*_VERDICT_HEADS, *_EXTREME_HEADS, Head("calls", 5))
_SIDE_HEADS = (Head("base", 0, words=True), Head("new", 0, words=True))

_CLEAR_VERDICTS = ("slower", "faster", "only in base", "only in new")

# Ticks and items are counted.
_UNITS_OF_WORK = {"bytes": "B/s", "flops": "FLOP/s"}

UNITS = {
    "runs": "Each run is one value.",
    "pairs": "Each pair of runs is one value.",
    "blocks": "With one run per side, parts of the runs are the values: the variation between runs is only estimated.",
}


def parts(comparison: Comparison, facts: Sequence[Difference], options: ViewOptions) -> Iterator[Part]:
    """Yield the parts of the view, top to bottom."""
    if facts:
        yield differences_table(facts)
    loops = [entry for entry in comparison.entries if entry.kind == "loop"]
    if loops:
        yield Table("loops", "loop", _LOOP_HEADS, [_loop(entry) for entry in loops])
    nodes = [entry for entry in comparison.entries if entry.kind == "node"]
    second, deeper = (
        ({}, set()) if options.all else deeper_levels(sorted(paths.split(entry.path) for entry in nodes))
    )
    outer = [entry for entry in nodes if paths.split(entry.path) not in deeper]
    rows = nodes if options.all else _with_results(outer)
    remark = " ".join([*remarks(comparison), *_not_shown(nodes, outer, rows)])
    entries = [_node(entry, second.get(paths.split(entry.path), 0)) for entry in rows]
    yield Table("sections", "section", _NODE_HEADS, entries, remark=remark)


def differences_table(facts: Sequence[Difference]) -> Table:
    """Return the other differences between the sides, as a table."""
    rows = [
        Entry(
            visible(fact.key),
            [visible(text) or formatting.ABSENT for text in (fact.base, fact.new)],
            "alarm" if fact.is_ground else "plain",
        )
        for fact in facts
    ]
    return Table("not the same on both sides", "fact", _SIDE_HEADS, rows)


def signed(part: float) -> str:
    """Return a shift as a percentage with its sign, such as "+1.7%"."""
    percent = 100 * part
    text = f"{percent:+.0f}%" if abs(percent) >= 99.5 else f"{percent:+.1f}%"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def interval(shift: Shift) -> str:
    """Return the interval of a shift, in percent."""
    return f"{signed(shift.low)} to {signed(shift.high)}"


def _with_results(nodes: Sequence[ComparisonEntry]) -> list[ComparisonEntry]:
    """Return the entries with a result, their ancestors, and the outermost ones."""
    shown_paths: set[str] = set()
    for entry in nodes:
        names = paths.split(entry.path)
        if len(names) == 1 or entry.verdict in _CLEAR_VERDICTS:
            shown_paths |= {paths.join(names[:depth]) for depth in range(1, len(names) + 1)}
    return [entry for entry in nodes if entry.path in shown_paths]


def _not_shown(
    nodes: Sequence[ComparisonEntry], outer: Sequence[ComparisonEntry], rows: Sequence[ComparisonEntry]
) -> Iterator[str]:
    """Yield what the table omits: deeper levels of a recursion, and sections without a result."""
    deeper = len(nodes) - len(outer)
    if deeper:
        counts = (sum(entry.verdict in _CLEAR_VERDICTS for entry in group) for group in (nodes, outer))
        clear = next(counts) - next(counts)
        of_them = f", {formatting.count(clear)} of them with a clear difference," if clear else ""
        yield f"{formatting.counted(deeper, 'section')} deeper in a recursion{of_them} not shown (--all)."
    hidden = len(outer) - len(rows)
    if hidden:
        yield f"{formatting.counted(hidden, 'section')} without a clear difference not shown (--all)."


def _loop(entry: ComparisonEntry) -> Entry:
    sides = [_side("base", entry.base, entry.rates[0]), _side("new", entry.new, entry.rates[1])]
    name, tone = visible(paths.display_text(entry.path)), VERDICT_TONES[entry.verdict]
    return Entry(name, _cells(entry, "mean_ns"), tone, about=sides)


def _side(name: str, stats: Stats, rates: Mapping[str, float]) -> list[str]:
    if not stats.count:
        return [f"{name}: no ticks"]
    mean, low, high = map(formatting.time, (stats.mean_ns, stats.min_ns, stats.max_ns))
    return [f"{name}: mean {mean}", f"min {low}", f"max {high}", *_rates(rates)]


def _rates(rates: Mapping[str, float]) -> Iterator[str]:
    for kind, rate in rates.items():
        unit = _UNITS_OF_WORK.get(kind)
        yield formatting.scaled(rate, unit) if unit else f"{formatting.scaled(rate, '').rstrip()} {kind}/s"


def _node(entry: ComparisonEntry, levels: int) -> Entry:
    names = paths.split(entry.path)
    guide = "  " * (len(names) - 1)
    cells = _cells(entry, "mean_ns", "min_ns", "max_ns")
    base, new = (", ".join(_rates(rates)) or formatting.ABSENT for rates in entry.rates)
    notes = [f"{base} -> {new}"] if any(entry.rates) else []
    if levels:
        notes.append(f"and {formatting.counted(levels, 'level')} of recursion in it")
    if entry.renamed:
        notes.append(f"like {visible(paths.display_text(entry.renamed))}: renamed?")
    name, tone = visible(names[-1]) or '""', VERDICT_TONES[entry.verdict]
    return Entry(name, cells, tone, notes=notes, guide=guide, trunk=guide)


def _cells(entry: ComparisonEntry, *times: str) -> list[str]:
    """Return the verdict, the shift and its interval, these times on both sides, and the calls."""
    estimate = interval_text = formatting.ABSENT
    if entry.shift is not None:
        estimate = signed(entry.shift.estimate)
        interval_text = interval(entry.shift) if math.isfinite(entry.shift.high) else "too few values"
    sides = (entry.base, entry.new)
    base, new = (formatting.count(stats.count) for stats in sides)
    return [
        *(formatting.verdict(entry.verdict), estimate, interval_text),
        *(formatting.time(getattr(stats, name)) for name in times for stats in sides),
        base if base == new else f"{base} / {new}",
    ]


def remarks(comparison: Comparison) -> Iterator[str]:
    """Yield sentences on how to read the verdicts."""
    yield UNITS[comparison.unit]
    yield f"A shift of less than {formatting.share(comparison.threshold)} is not a difference."
    yield "All verdicts together are wrong in at most 5% of comparisons."
    # How many more runs a verdict needs, for loops, or for the outermost sections if there are none.
    loops = [entry for entry in comparison.entries if entry.kind == "loop"]
    main_entries = loops or [entry for entry in comparison.entries if len(paths.split(entry.path)) == 1]
    undecided = [entry for entry in main_entries if entry.verdict == "inconclusive"]
    if undecided and comparison.unit != "pairs":
        yield 'A verdict of "cannot tell" needs more runs, or longer ones: ticktree bench measures pairs.'
    for entry in undecided:
        if entry.power is None:
            continue
        needed = entry.power.pairs_needed
        amount = f"about {formatting.count(needed)} pairs" if needed else "more than a million pairs"
        path = visible(paths.display_text(entry.path))
        yield (
            f"{path}: {formatting.count(entry.units[0])} pairs as noisy as these detect "
            f"{formatting.share(entry.power.shift)} or more; {SHIFT:.0%} needs {amount}."
        )


# Facts about the machine: the heading has those that the sides share, the table of differences the others.
_MACHINE_FACTS = ("host", "cpu", "system", "python")


def _html(comparison: Comparison, facts: Sequence[Difference], _options: ViewOptions) -> bytes:
    names = [", ".join(map(visible, side.names)) or "ticktree" for side in (comparison.base, comparison.new)]
    texts = {
        "title": names[0] if names[0] == names[1] else f"{names[0]} \N{RIGHTWARDS ARROW} {names[1]}",
        "headline": list(_headline(comparison)),
        "remarks": list(remarks(comparison)),
        "grounds": [fact.is_ground for fact in facts],
    }
    document = json.dumps(_document(comparison, facts), separators=(",", ":"))
    return page("runs", "comparison", document.encode(), texts)


def _headline(comparison: Comparison) -> Iterator[str]:
    base, new = comparison.base, comparison.new
    commands = base.metadata.get("command")
    if commands and commands == new.metadata.get("command"):
        yield ", ".join(visible(str(command)) for command in ordered(commands))
    if base.runs:
        yield f"{formatting.counted(base.runs, 'run')} of the base, {formatting.count(new.runs)} new"
    for key in _MACHINE_FACTS:
        values = base.metadata.get(key)
        if values and values == new.metadata.get(key):
            text = ", ".join(visible(str(value)) for value in ordered(values))
            yield f"Python {text}" if key == "python" else text


def _document(comparison: Comparison, facts: Sequence[Difference]) -> dict[str, Any]:
    return {**comparison.to_dict(), "differences": [fact.to_dict() for fact in facts]}


COMPARISONS: dict[str, Callable[[Comparison, Sequence[Difference], ViewOptions], bytes]] = {
    "terminal": lambda comparison, facts, options: terminal.draw(parts(comparison, facts, options), options),
    # The heading identifies the comment among others on a pull request.
    "markdown": lambda comparison, facts, options: markdown.draw(
        [Heading("ticktree compare", ()), *parts(comparison, facts, options)]
    ),
    "json": lambda comparison, facts, _: json.dumps(_document(comparison, facts), indent=1).encode() + b"\n",
    "html": _html,
}
