"""Plain text in the manner of hand-made analyzers: a summary, the top bottlenecks, categories, what to do.

Units stand above the columns, so that any program that splits a line at spaces finds numbers at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ticktree.analysis.bottlenecks import Bottleneck, category_shares
from ticktree.analysis.loops import LoopView
from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.advice import said
from ticktree.outputs.report.bottlenecks import of
from ticktree.outputs.report.headline import NOTHING, headline, losses, title
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.shapes.recursion import flattened
from ticktree.outputs.writing.formatting import ABSENT
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.plain import OPERATIONS, number, operation, table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import is_empty
from ticktree.profile.short_names import ShortNames

SHOWN = 10
SUMMARY_SHOWN = 30
NAME_CELLS = 60

_BOTTLENECKS = ("Operation", "Score", "Time%", "Avg(ms)", "Calls")
_CATEGORIES = ("Category", "Time%", "Time(ms)", "Operations")


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the report as UTF-8; "-" is what was not measured."""
    return "\n".join(_lines(profile, options)).encode() + b"\n"


def _lines(profile: Profile, options: ViewOptions) -> Iterator[str]:
    seen = Survey(profile, options.settings)
    yield title(profile)
    yield from headline(seen, replace(options, phase="all"))
    if is_empty(profile):
        yield from ("", NOTHING)
    else:
        yield from ("", "PROFILING SUMMARY:")
        yield from _summary(profile, options)
    for view in seen.loops if options.all else seen.main_loops:
        yield from _of_view(seen, view, options)
    yield from _recommendations(seen)
    lost = losses(profile)
    if lost:
        yield from ("", ", ".join(lost))


def _summary(profile: Profile, options: ViewOptions) -> Iterator[str]:
    names = ShortNames(profile.root)
    root = profile.root if options.all else flattened(profile.root)
    nodes = [(_operation(path, names), node) for path, _, node in root.walk() if path]
    nodes.sort(key=lambda pair: (-pair[1].total_ns, pair[0]))
    shown = nodes if options.all else nodes[:SUMMARY_SHOWN]
    yield from table(OPERATIONS, [_summary_row(path, node) for path, node in shown])
    yield from _more(len(nodes) - len(shown))


def _operation(path: str, names: ShortNames) -> str:
    whole = visible(paths.plain(path))
    return whole if _name(whole) == whole else visible(names.joined(paths.split(path)))


def _summary_row(path: str, node: Node) -> list[str]:
    return operation(_name(path), node.stats, node.total_ns, node.memory, node.device_memory)


def _name(text: str) -> str:
    return cut(text, NAME_CELLS)


def _of_view(seen: Survey, view: LoopView, options: ViewOptions) -> Iterator[str]:
    """Yield what a loop's time, or the run's, goes to: by score, as far as it works on the loop's path."""
    found = [one for one in seen.bottlenecks if one.view is view and one.score is not None]
    ranked = sorted(found, key=lambda one: (-(one.score or 0.0), one.section.path))
    if not ranked:
        return
    shown = ranked if options.all else ranked[:SHOWN]
    which = "ALL" if options.all else f"TOP {SHOWN}"
    yield from ("", f"{which} BOTTLENECKS OF {of(view)}{_ticks(view)}:")
    yield from table(_BOTTLENECKS, [_bottleneck_row(one) for one in shown])
    yield from _more(len(ranked) - len(shown))
    yield from ("", f"CATEGORIES OF {of(view)}{_ticks(view)}:")
    shares = category_shares(view)
    rows = [
        [_name(visible(one.name)), number(100 * one.share, 1, 1), number(one.ns, 1e6, 3), str(one.sections)]
        for one in shares
    ]
    yield from table(_CATEGORIES, rows)


def _ticks(view: LoopView) -> str:
    """Return which part of the run the own times are of, and that they are own times."""
    return f", own time in {view.ticks} steady ticks" if view.loop else ", own time"


def _bottleneck_row(one: Bottleneck) -> list[str]:
    calls = round(one.section.calls * one.view.ticks)
    return [
        _name(visible(one.view.name_of(one.section))) if one.section.path else "outside all sections",
        number(one.score, 1, 1),
        number(100 * one.share, 1, 1),
        number(one.call_ns, 1e6, 3),
        str(calls) if calls else ABSENT,
    ]


def _recommendations(seen: Survey) -> Iterator[str]:
    found = findings_in(seen)
    if found:
        yield from ("", "RECOMMENDATIONS:")
    for finding in found:
        yield f"{finding.severity.upper()}: {said(finding)} (rule: {visible(finding.rule)})"


def _more(count: int) -> Iterator[str]:
    if count:
        yield f"{count} more: --all"
