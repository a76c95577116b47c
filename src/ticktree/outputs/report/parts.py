"""The parts of a view, in the order in which they are read. Every view for people draws these."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.roles import has_processes
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.advice import advice
from ticktree.outputs.report.bottlenecks import bottlenecks
from ticktree.outputs.report.by import tree_by
from ticktree.outputs.report.categories import categories
from ticktree.outputs.report.critical import critical
from ticktree.outputs.report.gauges import gauges
from ticktree.outputs.report.headline import NOTHING, headline, losses, title
from ticktree.outputs.report.idle import why_idle
from ticktree.outputs.report.loops import loops
from ticktree.outputs.report.processes import processes
from ticktree.outputs.report.tree import tree
from ticktree.outputs.report.unworthy import unworthy
from ticktree.outputs.writing.document import Heading, Losses, Nothing, Part, Table
from ticktree.profile import Profile
from ticktree.profile.machine import is_empty, programs_own


def parts(profile: Profile, options: ViewOptions) -> Iterator[Part]:
    """Yield what there is to show of `profile`: its heading first, what was lost last."""
    seen = Survey(profile, options.settings)
    yield Heading(title(profile), headline(seen, options))
    if is_empty(profile):
        yield Nothing(NOTHING)
    else:
        yield _tree(profile, options)
    yield from _together(seen, options)
    if profile.loops:
        yield loops(seen, options)
    if programs_own(profile.gauges):
        yield gauges(profile)
    yield from _judged(seen, options)
    lost = losses(profile)
    if lost:
        yield Losses(lost)


def _tree(profile: Profile, options: ViewOptions) -> Table:
    if options.by is None or not profile.writers:
        return tree(profile, options)
    return tree_by(profile, options, options.by)


def _judged(seen: Survey, options: ViewOptions) -> Iterator[Part]:
    """Yield where the time of the loops that matter goes, what to do about it, and what not."""
    views = seen.loops if options.all else seen.main_loops
    for view in views:
        for table in (bottlenecks(seen, view, options), categories(view, options)):
            if table is not None:
                yield table
    worth_doing = advice(seen, options)
    if worth_doing.findings:
        yield worth_doing
    dismissed = unworthy(views)
    if dismissed.sentences:
        yield dismissed


def _together(seen: Survey, options: ViewOptions) -> Iterator[Table]:
    """Yield how processes and threads worked together; nothing of a run that had but one thread."""
    profile = seen.profile
    if len(profile.writers) < 2:
        return
    if has_processes(profile) or options.by is not None:
        yield processes(profile, seen, options.by)
    for table in (why_idle(seen, options), critical(profile, options)):
        if table is not None:
            yield table
