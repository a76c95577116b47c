"""The parts of a view, in the order in which they are read. Every view for people draws these."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.outputs.document import Heading, Losses, Nothing, Part
from ticktree.outputs.gauges import gauges
from ticktree.outputs.headline import NOTHING, headline, is_empty, losses, title
from ticktree.outputs.loops import loops
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.tree import tree
from ticktree.profile import Profile


def parts(profile: Profile, options: ViewOptions) -> Iterator[Part]:
    """Yield what there is to show of `profile`: its heading first, what was lost last."""
    yield Heading(title(profile), headline(profile, options))
    if is_empty(profile):
        yield Nothing(NOTHING)
    else:
        yield tree(profile, options)
    if profile.loops:
        yield loops(profile, options)
    if profile.gauges:
        yield gauges(profile)
    lost = losses(profile)
    if lost:
        yield Losses(lost)
