"""Builds the report view of a profile: this module decides what a report shows, and in which order.

On the first screen, the tree gets the room that everything else leaves in 45 lines of 80 columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ticktree.analysis import Finding
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.analysis.machine import fastest_machine
from ticktree.analysis.sampled import sampled_apart, sampled_times
from ticktree.analysis.workers.roles import has_processes
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.recursion import flattened
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.view import currency
from ticktree.outputs.view.headline import NOTHING, evidence, is_doubt, provenance, title, warnings
from ticktree.outputs.view.loops import headlines, loops
from ticktree.outputs.view.model import LoopPart, Recommendation, ReportView
from ticktree.outputs.view.sampled import calls, functions, is_told_by_samples, next_marks
from ticktree.outputs.view.sections import categories, dismissed, section_table, self_times
from ticktree.outputs.view.tables import critical, gauges, processes, why_idle
from ticktree.outputs.view.tree import outside, tree, tree_by
from ticktree.outputs.writing.document import Entry, Table
from ticktree.outputs.writing.grid import BAR_CELLS
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import is_empty, programs_own

LINES = 45
COLUMNS = 80
MIN_ROWS = 4
# Self times have fewer rows where the tree would have fewer lines than this.
ENOUGH_ROWS = 8
FEW_SELF_TIMES = 3
# A recommendation is cut off after this many lines, unless `--all` is given.
TEXT_LINES = 4


def _used(view: ReportView) -> int:
    used = 1 + _wrapped([view.title, *(fact.text for fact in view.provenance)], 3)
    used += sum(_wrapped([each.name, *each.pieces], 3) for each in view.headlines)
    used += sum(min(TEXT_LINES, _text(each.text, COLUMNS - 3)) for each in view.warnings)
    if view.recommendations:
        used += 2 + bool(view.more)
    for each in view.recommendations:
        used += min(TEXT_LINES, _text(f"{each.gain}  {each.text}", COLUMNS - 4)) + 1
    tables = [view.loops, *view.tables, *(part.self_times for part in view.parts)]
    used += sum(1 + lines_of(table) for table in tables if table is not None)
    used += sum(1 + _text(", ".join(part.dismissed), COLUMNS - 22) for part in view.parts if part.dismissed)
    trees = [part.tree for part in view.parts if part.tree is not None]
    return used + sum(1 + lines_of(tree) for tree in trees) + 1 + len(view.closing)


def fits(tree: Table | None, room: int) -> bool:
    """Return whether a tree fits the room that is left, or has no more rows than the minimum."""
    return tree is None or lines_of(tree) <= max(room, MIN_ROWS + 1)


def lines_of(table: Table) -> int:
    """Return how many lines a table takes, its heading included."""
    remark = _text(table.remark, COLUMNS) if table.remark else 0
    return 1 + len(table.entries) + sum(_below(entry, table) for entry in table.entries) + remark


def _below(entry: Entry, table: Table) -> int:
    """Return how many lines an entry has below its own."""
    notes = sum(map(len, entry.notes)) + 3 * len(entry.notes)
    names = max(len(each.guide + each.name + each.mark) + 3 * bool(each.mark) for each in table.entries)
    cells = [[len(each.cells[at]) for each in table.entries] for at in range(len(table.heads))]
    numbers = sum(2 + max(len(head.title), *sizes) for head, sizes in zip(table.heads, cells, strict=True))
    inline = COLUMNS - names - numbers - (0 if table.bar_rank is None else 2 + BAR_CELLS)
    about = sum(_wrapped(list(pieces), 3, COLUMNS - 2) for pieces in entry.about)
    if notes <= inline:
        return about
    return about + _wrapped(list(entry.notes), 3, max(1, COLUMNS - len(entry.trunk) - 2))


def _text(text: str, width: int) -> int:
    return _wrapped(text.split(" "), 1, width)


def _wrapped(pieces: list[str], between: int, width: int = COLUMNS) -> int:
    lines, at = 1, 0
    for piece in pieces:
        if at and at + between + len(piece) > width:
            lines, at = lines + 1, 2
        at += (between if at else 0) + min(len(piece), width)
    return lines


# A reader acts on a few recommendations; further ones save less.
RECOMMENDATIONS_SHOWN = 3


def report_view(
    context: Context, options: ViewOptions | None = None, found: Sequence[Finding] | None = None
) -> ReportView:
    """Return the report of a profile: what fits on a screen, or with `options.all` everything."""
    options = options or ViewOptions()
    view = first_screen(context, options, findings_in(context) if found is None else found)
    if view.nothing:
        return view
    view = replace(view, tables=list(_tables(context, options)))
    view = replace(view, parts=_parts(context, options, view))
    while not options.all and _used(view) > LINES and len(view.recommendations) > 1:
        view = replace(view, recommendations=view.recommendations[:-1], more=view.more + 1)
    return view


def first_screen(context: Context, options: ViewOptions, found: Sequence[Finding]) -> ReportView:
    """Return the parts of a report that come before where the time goes: the answer, and one row per loop."""
    view = ReportView(
        title=title(context.profile),
        provenance=provenance(context, options),
        warnings=warnings(context.profile, found, options),
        nothing=NOTHING if is_empty(context.profile) else "",
        closing=closing(context.profile, options),
    )
    if view.nothing:
        return view
    every = [each for each in found if not is_doubt(each) and (options.all or each.kind == "recommendation")]
    shown = every if options.all else every[:RECOMMENDATIONS_SHOWN]
    return replace(
        view,
        headlines=headlines(context, options),
        recommendations=[_recommendation(each, context) for each in shown],
        more=len(every) - len(shown),
        loops=loops(context, options),
    )


def _recommendation(finding: Finding, context: Context) -> Recommendation:
    view = context.view_of(finding.loop) if finding.loop else None
    return Recommendation(
        rule=finding.rule,
        severity=finding.severity,
        kind=finding.kind,
        path=finding.path,
        loop=finding.loop or "",
        gain=currency.gain(finding.saving, view),
        share=None if finding.saving is None else finding.saving.share,
        text=finding.message,
        where=visible(context.short_names.joined(paths.split(finding.path))),
        evidence=evidence(finding),
    )


def _parts(context: Context, options: ViewOptions, view: ReportView) -> list[LoopPart]:
    """Return where the time goes: of the main loop, or with `options.all` of every loop."""
    if is_told_by_samples(context.profile) and not programs_own(context.profile.gauges):
        return _by_function(context, options)
    views = list(context.loops if options.all else context.main_loops[:1])
    flat = _without_recursion(context, options)
    rest = _rest(flat, options)
    if options.all:
        parts = [
            LoopPart(each.path, self_times(each, options), dismissed([each]), _tree(flat, each, options))
            for each in views
        ]
        return [*parts, *rest]
    parts = []
    for each in views:
        found = _tree(flat, each, options, details=True)
        for part in _self_times(each, options):
            room = max(MIN_ROWS, LINES - _used(replace(view, parts=[part])) - 1)
            if room >= ENOUGH_ROWS or fits(found, room):
                break
        most = room - 1
        while not fits(found, room):
            found, most = _tree(flat, each, options, most), most - 1
        parts.append(replace(part, tree=found))
    return [*parts, *rest]


def _self_times(view: LoopView, options: ViewOptions) -> Iterator[LoopPart]:
    """Yield a loop's part without a tree: with all self times of the first screen, then with less and less of them."""
    times = self_times(view, options)
    yield LoopPart(view.path, times, dismissed([view]), None)
    yield LoopPart(view.path, times, (), None)
    yield LoopPart(view.path, self_times(view, options, FEW_SELF_TIMES), (), None)


def _by_function(context: Context, options: ViewOptions) -> list[LoopPart]:
    """Return where a run without sections goes, from samples: its self time, and that of threads without a node."""
    parts: list[LoopPart] = []
    whole = sampled_times(context.profile).get(paths.ROOT)
    if whole is not None:
        title, tree = "Where the run goes", calls("Calls", whole, options)
        parts.append(LoopPart(paths.ROOT, functions(title, whole, options), (), tree))
    for name, time in sampled_apart(context.profile).items():
        parts.append(LoopPart(paths.ROOT, functions(name.capitalize(), time, options), (), None))
    return parts


def _tree(
    flat: Context, view: LoopView, options: ViewOptions, most: int | None = None, *, details: bool = False
) -> Table | None:
    same = flat.view_of(view.path) or view
    here, times = fastest_machine(flat.profile), sampled_times(flat.profile)
    return tree(same, options, flat.short_names, here, most, details, times)


def _rest(flat: Context, options: ViewOptions) -> list[LoopPart]:
    """Return the tree of the run by process, thread or role; with `options.all`, what is outside its loops."""
    run = flat.run
    if options.by is not None and flat.profile.writers:
        found: Table | None = tree_by(flat.profile, run, options, options.by)
    elif options.all and any(view.loop is not None for view in flat.loops):
        outer = outside(run, {view.path: view for view in flat.loops})
        found = tree(outer, options, flat.short_names, fastest_machine(flat.profile))
    else:
        return []
    return [LoopPart(paths.ROOT, None, (), found)]


def _without_recursion(context: Context, options: ViewOptions) -> Context:
    """Return the profile with every recursion as one node; with `options.all`, the profile itself."""
    profile = context.profile
    root = profile.root if options.all else flattened(profile.root)
    # Only the recorded tree has the path of a loop within a recursion.
    if root is profile.root or any(root.find(path) is None for path in profile.loops):
        return context
    return Context(replace(profile, root=root), context.settings)


def _tables(context: Context, options: ViewOptions) -> Iterator[Table]:
    """Yield further tables, most of them with `options.all` only: sections, roles, waits, critical path, gauges."""
    if options.by is not None and context.profile.writers:
        yield processes(context.profile, context, options.by)
    # A run without sections has nothing but gauges.
    if programs_own(context.profile.gauges) and (options.all or context.profile.root.total_ns <= 0):
        yield gauges(context.profile)
    if not options.all:
        return
    for view in context.loops:
        yield from filter(None, (section_table(context, view), categories(view)))
    if len(context.profile.writers) > 1:
        if has_processes(context.profile) and options.by is None:
            yield processes(context.profile, context, None)
        yield from filter(None, (why_idle(context, options), critical(context.profile, options)))


def closing(profile: Profile, options: ViewOptions) -> list[str]:
    """Return what to mark in a program without loops and, for a run with a name, how to see the rest."""
    marks = next_marks(profile)
    if options.run is None:
        return marks
    run = f" {options.run}" if options.run else ""
    rest = [] if options.all else [f"All rows: ticktree report --all{run}"]
    return [*marks, *rest, f"Page: ticktree report -o report.html{run}"]
