"""Colours: charts and the HTML report have the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ticktree.outputs.charts import color_of

# report-ui/tests/palette.test.ts holds the front end to the same file.
COLORS = Path(__file__).parents[2] / "report-ui/tests/colors.json"


@pytest.mark.parametrize(("category", "theme", "color"), json.loads(COLORS.read_text("utf-8")))
def test_a_category_has_the_same_colour_in_every_picture(category, theme, color):
    assert color_of(category, theme) == color
