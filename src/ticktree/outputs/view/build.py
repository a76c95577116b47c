"""Makes the report view of a profile: every choice of what a report shows, and in which order, is made here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ticktree.analysis import Finding
from ticktree.analysis.loops import LoopView
from ticktree.analysis.machine import fastest_machine
from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.roles import has_processes
from ticktree.outputs.findings import evidence
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.shapes.recursion import flattened
from ticktree.outputs.view import currency
from ticktree.outputs.view.by import tree_by
from ticktree.outputs.view.critical import critical
from ticktree.outputs.view.gauges import gauges
from ticktree.outputs.view.headline import NOTHING, provenance, title
from ticktree.outputs.view.idle import why_idle
from ticktree.outputs.view.loops import headlines, loops
from ticktree.outputs.view.model import LoopPart, Recommendation, ReportView
from ticktree.outputs.view.processes import processes
from ticktree.outputs.view.room import fits, tree_room
from ticktree.outputs.view.run import is_doubt, startup, warnings
from ticktree.outputs.view.sections import categories, dismissed, section_table, self_times
from ticktree.outputs.view.tree import outside, tree
from ticktree.outputs.writing.document import Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import path as paths
from ticktree.profile.machine import is_empty, programs_own

# As many things as anyone does next; the others are worth less.
RECOMMENDATIONS_SHOWN = 3


def report_view(
    seen: Survey, options: ViewOptions | None = None, found: Sequence[Finding] | None = None
) -> ReportView:
    """Return what a report says of a profile: what fits on a screen, or with `options.all` everything.

    Args:
        seen: the profile.
        options: how much of it.
        found: all findings about it, with their sentences; None to look for them.
    """
    options = options or ViewOptions()
    view = first_screen(seen, options, findings_in(seen) if found is None else found)
    if view.nothing:
        return view
    view = replace(view, tables=list(_tables(seen, options)))
    return replace(view, parts=_parts(seen, options, view))


def first_screen(seen: Survey, options: ViewOptions, found: Sequence[Finding]) -> ReportView:
    """Return what a report says before it shows where the time goes: the answer, and each loop a row."""
    view = ReportView(
        title=title(seen.profile),
        provenance=provenance(seen, options),
        warnings=warnings(seen.profile, found, options),
        nothing=NOTHING if is_empty(seen.profile) else "",
        closing=closing(options),
    )
    if view.nothing:
        return view
    every = [each for each in found if not is_doubt(each) and (options.all or each.kind == "recommendation")]
    shown = every if options.all else every[:RECOMMENDATIONS_SHOWN]
    return replace(
        view,
        headlines=headlines(seen, options),
        recommendations=[_recommendation(each, seen) for each in shown],
        more=len(every) - len(shown),
        loops=_loops(seen, options),
    )


def _recommendation(finding: Finding, seen: Survey) -> Recommendation:
    view = seen.view_of(finding.loop) if finding.loop else None
    return Recommendation(
        rule=finding.rule,
        severity=finding.severity,
        kind=finding.kind,
        path=finding.path,
        loop=finding.loop or "",
        gain=currency.gain(finding.saving, view),
        share=None if finding.saving is None else finding.saving.share,
        text=finding.message,
        where=visible(seen.short_names.joined(paths.split(finding.path))),
        evidence=evidence(finding),
    )


def _loops(seen: Survey, options: ViewOptions) -> Table | None:
    table = loops(seen, options)
    began = startup(seen)
    if table is None or not began:
        return table
    return replace(table, remark="; ".join(filter(None, (began, table.remark))))


def _parts(seen: Survey, options: ViewOptions, view: ReportView) -> list[LoopPart]:
    """Return where the time goes: of the loop that the report leads with, or where all is asked for of every one."""
    views = list(seen.loops if options.all else seen.main_loops[:1])
    flat = _without_recursion(seen, options)
    rest = _rest(flat, options)
    if options.all:
        return [*(_part(flat, each, options) for each in views), *rest]
    parts: list[LoopPart] = []
    for each in views:
        part = replace(_part(flat, each, options), tree=None)
        room = tree_room(replace(view, parts=[part]))
        found, most = _tree(flat, each, options, details=True), room - 1
        while not fits(found, room):
            found, most = _tree(flat, each, options, most), most - 1
        parts.append(replace(part, tree=found))
    return [*parts, *rest]


def _part(flat: Survey, view: LoopView, options: ViewOptions) -> LoopPart:
    return LoopPart(view.path, self_times(view, options), dismissed([view]), _tree(flat, view, options))


def _tree(
    flat: Survey, view: LoopView, options: ViewOptions, most: int | None = None, *, details: bool = False
) -> Table | None:
    same = flat.view_of(view.path) or view
    return tree(same, options, flat.short_names, fastest_machine(flat.profile), most, details)


def _rest(flat: Survey, options: ViewOptions) -> list[LoopPart]:
    """Return the tree of the run by process, thread or role; of all, what is outside of its loops."""
    run = flat.run
    if options.by is not None and flat.profile.writers:
        found: Table | None = tree_by(flat.profile, run, options, options.by)
    elif options.all and any(view.loop is not None for view in flat.loops):
        outer = outside(run, {view.path: view for view in flat.loops})
        found = tree(outer, options, flat.short_names, fastest_machine(flat.profile))
    else:
        return []
    return [LoopPart(paths.ROOT, None, (), found)]


def _without_recursion(seen: Survey, options: ViewOptions) -> Survey:
    """Return the same profile with every recursion as one node; with `all` as it is."""
    profile = seen.profile
    root = profile.root if options.all else flattened(profile.root)
    # A loop within a recursion has its path only as it was recorded.
    if root is profile.root or any(root.find(path) is None for path in profile.loops):
        return seen
    return Survey(replace(profile, root=root), seen.settings)


def _tables(seen: Survey, options: ViewOptions) -> Iterator[Table]:
    """Yield what else there is to know where all is asked for: sections, roles, waits, critical path, gauges."""
    if options.by is not None and seen.profile.writers:
        yield processes(seen.profile, seen, options.by)
    # Gauges are all there is of a run without sections.
    if programs_own(seen.profile.gauges) and (options.all or seen.profile.root.total_ns <= 0):
        yield gauges(seen.profile)
    if not options.all:
        return
    for view in seen.loops:
        yield from filter(None, (section_table(seen, view), categories(view)))
    if len(seen.profile.writers) > 1:
        if has_processes(seen.profile) and options.by is None:
            yield processes(seen.profile, seen, None)
        yield from filter(None, (why_idle(seen, options), critical(seen.profile, options)))


def closing(options: ViewOptions) -> list[str]:
    """Return how to see the rest, where it is known how the run is called."""
    if options.run is None:
        return []
    run = f" {options.run}" if options.run else ""
    rest = [] if options.all else [f"All rows: ticktree report --all{run}"]
    return [*rest, f"Page: ticktree report -o report.html{run}"]
