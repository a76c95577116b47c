"""Builds the report view of a profile: this module decides what a report shows, and in which order.

On the first screen, of 45 lines of 80 columns, the tree gets the lines that everything else leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ticktree.analysis import Finding
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.analysis.machine import fastest_machine
from ticktree.analysis.sampled import sampled_threads, sampled_times
from ticktree.analysis.workers.roles import has_processes
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.recursion import flattened
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.view import currency
from ticktree.outputs.view.headline import NOTHING, evidence, is_doubt, provenance, title, warnings
from ticktree.outputs.view.loops import headlines, loops
from ticktree.outputs.view.model import LoopPart, Recommendation, ReportView
from ticktree.outputs.view.sampled import calls, functions, is_shown_by_samples, marks_to_set
from ticktree.outputs.view.sections import categories, not_worth_optimizing, section_table, self_times
from ticktree.outputs.view.tables import critical, gauges, processes, why_idle
from ticktree.outputs.view.tree import outside, tree, tree_by
from ticktree.outputs.writing.document import Entry, Table
from ticktree.outputs.writing.grid import BAR_CELLS
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import is_empty, program_gauges

LINES = 45
COLUMNS = 80
MIN_ROWS = 4
# Self times have fewer rows if the tree would otherwise have fewer lines than this.
ENOUGH_ROWS = 8
FEW_SELF_TIMES = 3
# A recommendation is cut off after this many lines, unless `--all` is given.
TEXT_LINES = 4


def _line_count(view: ReportView) -> int:
    count = 1 + _wrapped_lines([view.title, *(fact.text for fact in view.provenance)], 3)
    count += sum(_wrapped_lines([item.name, *item.pieces], 3) for item in view.headlines)
    count += sum(min(TEXT_LINES, _text_lines(item.text, COLUMNS - 3)) for item in view.warnings)
    if view.recommendations:
        count += 2 + bool(view.more)
    for item in view.recommendations:
        count += min(TEXT_LINES, _text_lines(f"{item.gain}  {item.text}", COLUMNS - 4)) + 1
    tables = [view.loops, *view.tables, *(part.self_times for part in view.parts)]
    count += sum(1 + table_lines(table) for table in tables if table is not None)
    remarks = (", ".join(part.dismissed) for part in view.parts if part.dismissed)
    count += sum(1 + _text_lines(remark, COLUMNS - 22) for remark in remarks)
    trees = [part.tree for part in view.parts if part.tree is not None]
    return count + sum(1 + table_lines(tree) for tree in trees) + 1 + len(view.closing)


def _fits(tree: Table | None, room: int) -> bool:
    """Return whether a tree fits into `room` lines, or has no more rows than the minimum."""
    return tree is None or table_lines(tree) <= max(room, MIN_ROWS + 1)


def table_lines(table: Table) -> int:
    """Return how many lines a table takes, including its heading."""
    remark = _text_lines(table.remark, COLUMNS) if table.remark else 0
    return 1 + len(table.entries) + sum(_further_lines(entry, table) for entry in table.entries) + remark


def _further_lines(entry: Entry, table: Table) -> int:
    """Return how many lines an entry takes beyond the first."""
    notes = sum(map(len, entry.notes)) + 3 * len(entry.notes)
    names = max(len(row.guide + row.name + row.mark) + 3 * bool(row.mark) for row in table.entries)
    cells = [[len(row.cells[column]) for row in table.entries] for column in range(len(table.heads))]
    numbers = sum(2 + max(len(head.title), *sizes) for head, sizes in zip(table.heads, cells, strict=True))
    inline = COLUMNS - names - numbers - (0 if table.bar_rank is None else 2 + BAR_CELLS)
    about = sum(_wrapped_lines(list(pieces), 3, COLUMNS - 2) for pieces in entry.about)
    if notes <= inline:
        return about
    return about + _wrapped_lines(list(entry.notes), 3, max(1, COLUMNS - len(entry.trunk) - 2))


def _text_lines(text: str, width: int) -> int:
    return _wrapped_lines(text.split(" "), 1, width)


def _wrapped_lines(pieces: list[str], separator_width: int, width: int = COLUMNS) -> int:
    lines, used_width = 1, 0
    for piece in pieces:
        if used_width and used_width + separator_width + len(piece) > width:
            lines, used_width = lines + 1, 2
        used_width += (separator_width if used_width else 0) + min(len(piece), width)
    return lines


# A reader acts on a few recommendations; further ones save less.
RECOMMENDATIONS_SHOWN = 3


def report_view(
    context: Context, options: ViewOptions | None = None, findings: Sequence[Finding] | None = None
) -> ReportView:
    """Return the report of a profile: what _fits on a screen, or with `options.all` everything."""
    options = options or ViewOptions()
    view = first_screen(context, options, findings_in(context) if findings is None else findings)
    if view.nothing:
        return view
    view = replace(view, tables=list(_tables(context, options)))
    view = replace(view, parts=_parts(context, options, view))
    while not options.all and _line_count(view) > LINES and len(view.recommendations) > 1:
        view = replace(view, recommendations=view.recommendations[:-1], more=view.more + 1)
    return view


def first_screen(context: Context, options: ViewOptions, findings: Sequence[Finding]) -> ReportView:
    """Return the first parts of a report: the answer, and one row per loop."""
    view = ReportView(
        title=title(context.profile),
        provenance=provenance(context, options),
        warnings=warnings(context.profile, findings, options),
        nothing=NOTHING if is_empty(context.profile) else "",
        closing=closing(context.profile, options),
    )
    if view.nothing:
        return view
    relevant = [finding for finding in findings if not is_doubt(finding)]
    if not options.all:
        relevant = [finding for finding in relevant if finding.kind == "recommendation"]
    leading = relevant if options.all else relevant[:RECOMMENDATIONS_SHOWN]
    return replace(
        view,
        headlines=headlines(context, options),
        recommendations=[_recommendation(finding, context) for finding in leading],
        more=len(relevant) - len(leading),
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


def _parts(context: Context, options: ViewOptions, report: ReportView) -> list[LoopPart]:
    """Return where the time of the main loop goes, or with `options.all` that of every loop."""
    if is_shown_by_samples(context.profile) and not program_gauges(context.profile.gauges):
        return _sampled_parts(context, options)
    flat = _without_recursion(context, options)
    run_part = _run_part(flat, options)
    if options.all:
        parts = [
            LoopPart(
                view.path, self_times(view, options), not_worth_optimizing([view]), _tree(flat, view, options)
            )
            for view in context.loops
        ]
        return [*parts, *run_part]
    parts = []
    for view in context.main_loops[:1]:
        loop_tree = _tree(flat, view, options, details=True)
        for part in _self_times(view, options):
            room = max(MIN_ROWS, LINES - _line_count(replace(report, parts=[part])) - 1)
            if room >= ENOUGH_ROWS or _fits(loop_tree, room):
                break
        max_rows = room - 1
        while not _fits(loop_tree, room):
            loop_tree, max_rows = _tree(flat, view, options, max_rows), max_rows - 1
        parts.append(replace(part, tree=loop_tree))
    return [*parts, *run_part]


def _self_times(view: LoopView, options: ViewOptions) -> Iterator[LoopPart]:
    """Yield a loop's part without a tree: with all self times of the first screen, then with fewer."""
    times = self_times(view, options)
    yield LoopPart(view.path, times, not_worth_optimizing([view]), None)
    yield LoopPart(view.path, times, (), None)
    yield LoopPart(view.path, self_times(view, options, FEW_SELF_TIMES), (), None)


def _sampled_parts(context: Context, options: ViewOptions) -> list[LoopPart]:
    """Return where the time of a run without sections goes, from samples: self time, and threads without a node."""
    parts = [
        LoopPart(paths.ROOT, functions(name.capitalize(), time, options), (), None)
        for name, time in sampled_threads(context.profile).items()
    ]
    root_time = sampled_times(context.profile).get(paths.ROOT)
    if root_time is None:
        return parts
    table = functions("Where the run goes", root_time, options)
    return [LoopPart(paths.ROOT, table, (), calls("Calls", root_time, options)), *parts]


def _tree(
    flat: Context, view: LoopView, options: ViewOptions, max_rows: int | None = None, *, details: bool = False
) -> Table | None:
    flat_view = flat.view_of(view.path) or view
    ceilings, times = fastest_machine(flat.profile), sampled_times(flat.profile)
    return tree(flat_view, options, flat.short_names, ceilings, max_rows, details, times)


def _run_part(flat: Context, options: ViewOptions) -> list[LoopPart]:
    """Return the tree of the run by process, thread or role; with `options.all`, the part outside its loops."""
    if options.by is not None and flat.profile.threads:
        table: Table | None = tree_by(flat.profile, flat.run, options, options.by)
    elif options.all and any(view.loop is not None for view in flat.loops):
        outer = outside(flat.run, {view.path for view in flat.loops})
        table = tree(outer, options, flat.short_names, fastest_machine(flat.profile))
    else:
        return []
    return [LoopPart(paths.ROOT, None, (), table)]


def _without_recursion(context: Context, options: ViewOptions) -> Context:
    """Return the profile with each recursion as one node; with `options.all`, the profile itself."""
    profile = context.profile
    root = profile.root if options.all else flattened(profile.root)
    # Only the recorded tree has the path of a loop in a recursion.
    if root is profile.root or any(root.find(path) is None for path in profile.loops):
        return context
    return Context(replace(profile, root=root), context.settings)


def _tables(context: Context, options: ViewOptions) -> Iterator[Table]:
    """Yield further tables, most of them with `options.all` only: sections, roles, waits, critical path, gauges."""
    if options.by is not None and context.profile.threads:
        yield processes(context.profile, context, options.by)
    # A run without sections has nothing but gauges.
    if program_gauges(context.profile.gauges) and (options.all or context.profile.root.total_ns <= 0):
        yield gauges(context.profile)
    if not options.all:
        return
    for view in context.loops:
        yield from filter(None, (section_table(context, view), categories(view)))
    if len(context.profile.threads) > 1:
        if has_processes(context.profile) and options.by is None:
            yield processes(context.profile, context, None)
        yield from filter(None, (why_idle(context, options), critical(context.profile, options)))


def closing(profile: Profile, options: ViewOptions) -> list[str]:
    """Return what to mark in a program without loops and, for a run with a name, how to see the rest."""
    marks = marks_to_set(profile)
    if options.run is None:
        return marks
    run = f" {options.run}" if options.run else ""
    more = [] if options.all else [f"All rows: ticktree report --all{run}"]
    return [*marks, *more, f"Page: ticktree report -o report.html{run}"]
