"""The HTML view: one file that opens anywhere and asks nobody for anything.

`facts` says what is in it, `events` packs the calls of a timeline, and `embedding` puts both into the front end, which
is built from `report-ui/` and lies beside them as `page.html`. What shows several runs has another, `runs.html`.
Pages in which no script runs, of a history and of experiments, are made of what `static` has.
"""

from __future__ import annotations

from ticktree.analysis.context import Context
from ticktree.outputs.html.embedding import page
from ticktree.outputs.html.events import told
from ticktree.outputs.html.facts import facts
from ticktree.outputs.json import written
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.sentences import findings_in
from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return the profile as a page in UTF-8: what `--format json` says of it, and how the other views word it."""
    context = Context(profile, options.settings)
    found = findings_in(context)
    words = facts(context, found, options)
    events = b""
    if timeline is not None and len(timeline):
        words["timeline"], events = told(timeline)
    return page("page", "report", written(context, found).strip(), words, events)


__all__ = ["render"]
