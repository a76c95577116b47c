"""The HTML view: one file that opens anywhere and asks nobody for anything.

`facts` says what is in it, `embedding` puts that into the front end, which is built from `report-ui/` and lies beside
them as `page.html`. What shows several runs has a front end of its own, `runs.html`.
"""

from __future__ import annotations

from ticktree.analysis.registry import found_in
from ticktree.analysis.survey import Survey
from ticktree.outputs.html.embedding import page
from ticktree.outputs.html.facts import facts
from ticktree.outputs.json import written
from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile as a page in UTF-8: what `--format json` says of it, and how the other views word it."""
    seen = Survey(profile, options.settings)
    found = found_in(seen)
    words = facts(seen, found, options)
    return page("page", "report", written(seen, found).strip(), words)


__all__ = ["render"]
