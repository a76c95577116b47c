"""What the front end writes by itself, it writes as every other view does: one file of cases holds both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible

CASES = json.loads((Path(__file__).parents[3] / "report-ui/tests/formatting.json").read_text())


@pytest.mark.parametrize(("function", "values", "text"), CASES)
def test_the_front_ends_test_cases_equal_pythons_formatting(function, values, text):
    write = visible if function == "visible" else getattr(formatting, function)
    assert write(*values) == text
