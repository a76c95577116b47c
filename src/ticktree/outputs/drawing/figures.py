"""Figures: pictures that matplotlib draws, without its windows and without what the user has set.

So the same data give the same picture on every machine with the same release.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Literal

from ticktree.outputs.extras import wanted

Format = Literal["png", "svg"]

GREY = "#8a8f98"
INK = "#3b3f46"
_DOTS_PER_INCH = 150
_STYLE = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "grid.color": "#e4e6ea",
    "ytick.left": False,
    "text.parse_math": False,  # a name with two dollars is no formula
    "svg.fonttype": "none",  # letters, which can be searched and read aloud
    "svg.hashsalt": "ticktree",
}


def drawn(form: Format, inches: tuple[float, float], draw: Callable[[Any], None]) -> bytes:
    """Return what `draw` draws on a figure, as a file of the format `form`.

    Args:
        form: of the file.
        inches: how wide and how high.
        draw: takes the figure.

    Raises:
        TicktreeError: matplotlib is not installed.
    """
    matplotlib = wanted("matplotlib", by=form, extra="charts")
    with _own_style(matplotlib):
        figure = wanted("matplotlib.figure", by=form, extra="charts").Figure(
            figsize=inches, dpi=_DOTS_PER_INCH, layout="constrained"
        )
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
        draw(figure)
        written = BytesIO()
        # Neither when it was drawn nor by which release, or no two files would be the same.
        dated = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        figure.savefig(written, format=form, metadata=dated)
    return written.getvalue()


@contextmanager
def _own_style(matplotlib: Any) -> Iterator[None]:
    with warnings.catch_warnings(), matplotlib.rc_context():
        # A letter that the font lacks is drawn as a box: nothing that a user could do about, and no reason to fail.
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield
