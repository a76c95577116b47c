"""The machine's view: the profile as it is saved, and what is judged of it."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.analysis import Finding
from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.sentences.facts import finding_fields
from ticktree.outputs.view.judged import judged
from ticktree.profile import Profile
from ticktree.profile.codec import to_text


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile, all findings about it and all its bottlenecks as JSON and a newline."""
    seen = Survey(profile, options.settings)
    return written(seen, findings_in(seen))


def written(seen: Survey, found: Sequence[Finding]) -> bytes:
    """Return the same of a profile that was looked at already.

    Args:
        seen: the profile.
        found: all findings about it.
    """
    fields = seen.profile.to_dict([finding_fields(finding) for finding in found])
    tree = fields.pop("tree")  # stays last: it is written piece by piece
    return to_text({**fields, **judged(seen), "tree": tree}).encode() + b"\n"
