"""The HTML view: one file that opens anywhere and asks nobody for anything.

`facts` says what is in it, `embedding` puts that into the front end, which is built from `report-ui/` and lies beside
them as `page.html`.
"""

from __future__ import annotations

from ticktree.outputs.html.facts import facts
from ticktree.outputs.html.embedding import page
from ticktree.outputs.json import render as render_json
from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile as a page in UTF-8: what `--format json` says of it, and how the other views word it."""
    words = facts(profile, options)
    return page(words["title"], render_json(profile, options).strip(), words)


__all__ = ["render"]
