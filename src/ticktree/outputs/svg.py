"""The overview as a picture: SVG, for a paper, with its letters as letters."""

from __future__ import annotations

from ticktree.outputs.drawing.charts import chart
from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the overview as an SVG file.

    Raises:
        TicktreeError: matplotlib is not installed.
    """
    return chart(profile, options, "svg")
