"""The overview as a picture: PNG, for a slide or a chat."""

from __future__ import annotations

from ticktree.outputs.drawing.charts import chart
from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the overview as a PNG file.

    Raises:
        TicktreeError: matplotlib is not installed.
    """
    return chart(profile, options, "png")
