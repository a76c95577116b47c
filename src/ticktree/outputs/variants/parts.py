"""What several runs show side by side: what differs, how fast each loop went, and what each section took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.recursion import deeper_levels
from ticktree.outputs.variants.chief import chief_of_all
from ticktree.outputs.variants.facts import apart
from ticktree.outputs.variants.rows import Row, rows
from ticktree.outputs.variants.variant import Variant
from ticktree.outputs.view import currency
from ticktree.outputs.view.columns import filled
from ticktree.outputs.view.headline import losses
from ticktree.outputs.view.loops import LOOPS, LoopRow
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Head, Heading, Losses, Part, Table, Tone
from ticktree.outputs.writing.visible import visible
from ticktree.profile import path as paths
from ticktree.profile.metadata import ordered

_RUNS = (
    Head("the loop", 3, words=True),
    Head("tick", 1),
    Head("rate", 0),
    Head("bottleneck", 2, words=True),
    Head("if free", 0),
)
_REMARK = (
    "What a steady call takes; of [self], what of each call. "
    "What of it is chance is not said here: ticktree compare."
)


def parts(runs: Sequence[Variant], options: ViewOptions) -> Iterator[Part]:
    """Yield what there is to show, top to bottom."""
    yield Heading(f"{formatting.counted(len(runs), 'run')} side by side", [run.label for run in runs])
    yield Table("runs", "run", _RUNS, [_run(run) for run in runs])
    heads = [Head(run.label, 0, words=True) for run in runs]
    facts = [
        Entry(
            visible(key),
            [", ".join(visible(str(one)) for one in ordered(of)) or formatting.ABSENT for of in each],
        )
        for key, each in apart(runs)
    ]
    if facts:
        yield Table("not the same in all", "fact", heads, facts)
    for path in sorted({path for run in runs for path in run.profile.loops}):
        yield _loop(path, runs)
    found = rows([run.profile for run in runs])
    names = [paths.split(row.path) for row in found]
    second, deeper = ({}, set()) if options.all else deeper_levels(names)
    entries = [
        _section(row, second.get(path, 0))
        for row, path in zip(found, names, strict=True)
        if path not in deeper and (row.kind == "section" or path not in second)
    ]
    yield Table("sections", "section", [Head(run.label, 0) for run in runs], entries, remark=_REMARK)
    for run in runs:
        lost = losses(run.profile)
        if lost:
            yield Losses([f"{run.label}: {lost[0]}", *lost[1:]])


def _run(run: Variant) -> Entry:
    found = chief_of_all(run.seen)
    if found is None:
        return Entry(run.label, [formatting.ABSENT] * len(_RUNS), "faint")
    loop = found.view.loop
    ceiling = None if found.one is None else found.one.saving
    if ceiling is None:
        free = formatting.ABSENT
    elif loop is None:
        free = (
            f"{formatting.significant(ceiling.speedup)} x"
            if ceiling.speedup is not None
            else formatting.ABSENT
        )
    else:
        free = formatting.change(formatting.hertz(ceiling.hz), formatting.hertz(ceiling.free_hz))
    return Entry(
        run.label,
        [
            visible(paths.plain(loop.path)) if loop else "the run",
            formatting.time(round(found.view.tick_ns)),
            currency.pace(found.view) if loop else formatting.ABSENT,
            visible(found.name or "") or formatting.ABSENT,
            free,
        ],
        "alarm" if loop is not None and loop.missed else "plain",
    )


def _loop(path: str, runs: Sequence[Variant]) -> Table:
    entries = []
    for run in runs:
        loop = run.profile.loops.get(path)
        if loop is None:
            entries.append(Entry(run.label, [formatting.ABSENT] * len(LOOPS)))
            continue
        row = LoopRow(loop, run.seen.view_of(path), run.seen.run_ns)
        entry = Entry(run.label, (), "alarm" if loop.missed else "plain")
        entries.append(filled(entry, LOOPS, row))
    title = f"loop {visible(paths.plain(path))}"
    return Table(title, title, [column.head for column in LOOPS], entries)


def _section(row: Row, levels: int) -> Entry:
    guide = "  " * row.depth
    cells = [formatting.time(row.mean_ns(place)) for place in range(len(row.nodes))]
    waits = any(node and node.wait for node in row.nodes)
    tone: Tone = "quiet" if row.kind == "self" else "wait" if waits else "plain"
    notes = [f"and {formatting.counted(levels, 'level')} of recursion in it"] if levels else []
    return Entry(visible(row.name) or '""', cells, tone, notes=notes, guide=guide, trunk=guide)
