"""Why anyone was idle: the waits of which it is known who ended them, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.waits import Cause, Waiting, waitings
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.columns import WAITS, filled
from ticktree.outputs.view.naming import last_name, who
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Table
from ticktree.outputs.writing.visible import visible

WAITS_SHOWN = 6
# Shorter waits, as a part of their role's time, are no reason to be idle.
LEAST_SHARE = 0.01
CAUSES_SHOWN = 3
# Of those who did it together, one is worth a name if it did so much, and so many times an equal part.
NAMED_SHARE = 0.2
NAMED_FACTOR = 1.5
# Who ended all but so little of it is named alone.
ALONE_SHARE = 0.995


def why_idle(seen: Survey, options: ViewOptions) -> Table | None:
    """Return who waited where and for whom; None where nobody did, or nothing tells for whom."""
    known = [wait for wait in waitings(seen) if wait.causes]
    if not options.all:
        known = [wait for wait in known if (wait.share or 0.0) >= LEAST_SHARE][:WAITS_SHOWN]
    heads = [column.head for column in WAITS]
    return (
        Table("why idle", "who waits", heads, [_entry(wait, seen, options) for wait in known])
        if known
        else None
    )


def _entry(wait: Waiting, seen: Survey, options: ViewOptions) -> Entry:
    name = visible(f"{who(wait.role.name, wait.count)} in {last_name(wait.path, seen.short_names)}")
    entry = Entry(name, (), tone="wait", notes=tuple(_notes(wait, seen, options)), path=wait.path)
    return filled(entry, WAITS, wait)


def _notes(wait: Waiting, seen: Survey, options: ViewOptions) -> Iterator[str]:
    whole_ns = max(wait.waited_ns, wait.known_ns)
    shown = wait.causes if options.all else wait.causes[:CAUSES_SHOWN]
    for cause in shown:
        yield f"{formatting.share(cause.wakes.waited_ns / whole_ns)} for {visible(_cause(cause, seen))}"
    rest_ns = whole_ns - sum(cause.wakes.waited_ns for cause in shown)
    if rest_ns > LEAST_SHARE * whole_ns:
        known = " for others" if len(shown) < len(wait.causes) else ", not known for whom"
        yield f"{formatting.share(rest_ns / whole_ns)}{known}"
    wakes = sum(cause.wakes.count for cause in wait.causes)
    handover_ns = sum(cause.wakes.handover_ns for cause in wait.causes)
    if handover_ns > LEAST_SHARE * whole_ns:
        yield f"goes on {formatting.time(handover_ns / wakes)} after it could"


def _cause(cause: Cause, seen: Survey) -> str:
    """Return who ended waits, and in which section: of several, also the one that ended most of them."""
    place = f" in {last_name(cause.path, seen.short_names)}" if cause.path else ""
    (name, most_ns), count = cause.by[0], len(cause.by)
    part = most_ns / cause.wakes.waited_ns if cause.wakes.waited_ns else 0.0
    if count == 1 or part >= ALONE_SHARE:
        return f"{name}{place}"
    most = (
        f", {formatting.share(part)} of it {name}" if part >= max(NAMED_SHARE, NAMED_FACTOR / count) else ""
    )
    return f"{who(cause.role, count)}{place}{most}"
