"""What experiments say, in each format: the same numbers, and nothing but text whatever a section is called."""

from __future__ import annotations

import base64
import json
import re

import pytest

from ticktree.analysis.experiments.estimates import Experiments, Prediction, Slope
from ticktree.outputs import ViewOptions
from ticktree.outputs.whatif import WHATIFS

HOSTILE = "consume/</title><script>alert(1)</script>\x1b[2J"


def prediction(
    path: str, percent: int, gain: float | None, low: float | None, high: float | None
) -> Prediction:
    return Prediction(
        path=path,
        speedup_percent=percent,
        gain_percent=gain,
        low_percent=low,
        high_percent=high,
        amdahl_percent=percent / 1.0,
        verdict="gain" if low else "cannot tell",
    )


FOUND = Experiments(
    loop="consume",
    tick_ns=10e6,
    blocks=40,
    predictions=[
        prediction("produce", 50, 49.8, 49.0, 50.7),
        prediction("produce", 90, 59.3, 58.6, 60.2),
        prediction(HOSTILE, 50, 0.1, -1.0, 1.7),
        prediction(HOSTILE, 90, None, None, None),
    ],
    slopes={
        "produce": Slope(
            path="produce",
            slower_percent=50,
            loss_percent=50.7,
            low_percent=49.0,
            high_percent=51.2,
            critical=1.02,
        )
    },
    notes=["a note"],
)


@pytest.mark.parametrize("form", WHATIFS)
def test_each_format_has_every_gain_and_is_the_same_twice(form):
    document = WHATIFS[form](FOUND, ViewOptions())
    assert document == WHATIFS[form](FOUND, ViewOptions())
    assert all(number in document.decode() for number in ("49.8", "59.3", "58.6", "60.2"))


def test_the_page_draws_a_curve_with_intervals_for_each_section():
    page = WHATIFS["html"](FOUND, ViewOptions()).decode()
    produce, consume = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    # From the tick as it is, over its half at half the section: 1000 wide and 240 high, less the margins.
    (points,) = re.findall(r'points="([^"]*)"', produce)
    (begin, _), (middle, half), (_, last) = [tuple(map(float, point.split(","))) for point in points.split()]
    assert (begin, middle) == (72, pytest.approx(72 + 884 / 2))
    assert 14 < half < last < 210
    assert produce.count('class="run"') == 2
    assert "50% faster: 49.8% (49.0% to 50.7%)" in produce
    assert consume.count('class="run"') == 1  # of 90% nothing is known
    assert "a note" in page


def test_names_are_only_text_on_the_page():
    page = WHATIFS["html"](FOUND, ViewOptions()).decode()
    assert "<script" not in page
    assert "\x1b" not in page
    (packed,) = re.findall(r'href="data:application/json;base64,([^"]*)"', page)
    assert json.loads(base64.b64decode(packed))["results"][2]["path"] == HOSTILE


def test_an_exact_answer_without_a_tick_has_no_curve():
    nothing = Experiments(loop="consume", tick_ns=0.0, blocks=0, predictions=[], slopes={})
    assert "<svg" not in WHATIFS["html"](nothing, ViewOptions()).decode()
