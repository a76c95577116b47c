"""The HTML view: one file that opens anywhere and loads nothing from elsewhere.

`facts` makes its data, `events` packs the calls of a timeline, and `embedding` puts both into the front end
`page.html`, which is built from `report-ui/`. Views of several runs use another front end, `runs.html`. The pages of a
history and of experiments have no scripts: they use `static`.
"""

from __future__ import annotations

from ticktree.analysis.context import Context
from ticktree.outputs.html.embedding import page
from ticktree.outputs.html.events import pack_timeline
from ticktree.outputs.html.facts import facts
from ticktree.outputs.json import report_json
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.sentences import findings_in
from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return the profile as a page in UTF-8: the data of `--format json`, with the words of the other views."""
    context = Context(profile, options.settings)
    findings = findings_in(context)
    words = facts(context, findings, options)
    events = b""
    if timeline is not None and len(timeline):
        words["timeline"], events = pack_timeline(timeline, profile)
    return page("page", "report", report_json(context, findings).strip(), words, events)
