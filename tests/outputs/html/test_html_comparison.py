"""The page of a comparison holds what its JSON says, and words that go with it."""

from __future__ import annotations

import json
from dataclasses import replace

from test_html_output import data_in, elements

from support.example_variants import sides
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.comparison.differences import differences
from ticktree.outputs import ViewOptions
from ticktree.outputs.comparison import COMPARISONS


def rendered(base, new, form) -> bytes:
    return COMPARISONS[form](compare(base, new), differences(base, new), ViewOptions())


def test_the_page_has_what_the_json_has():
    base, new = sides()
    assert data_in(rendered(base, new, "html"))["comparison"] == json.loads(rendered(base, new, "json"))


def test_the_page_names_both_sides_and_the_machine():
    base, new = sides(runs=5)
    view = data_in(rendered(base, new, "html"))["view"]
    assert view["title"] == "pretrained"
    assert view["headline"] == ["5 runs of the base, 5 new", "bench-3", "Python 3.11.9"]
    assert "Each run is one value." in view["remarks"]
    hostile = [replace(run, metadata={**run.metadata, "name": frozenset({"</script>"})}) for run in new]
    document = rendered(base, hostile, "html")
    assert data_in(document)["view"]["title"] == "pretrained \N{RIGHTWARDS ARROW} </script>"
    assert len(elements(document).scripts) == 2


def test_differences_that_alone_may_cause_a_change_are_marked():
    base, new = sides()
    new = [replace(run, metadata={**run.metadata, "python": frozenset({"3.13.1"})}) for run in new]
    data = data_in(rendered(base, new, "html"))
    grounds = dict(zip((each["key"] for each in data["comparison"]["differences"]), data["view"]["grounds"]))
    assert grounds == {"python": True, "command": False}


def test_the_json_names_both_sides():
    base, new = sides(runs=5)
    document = json.loads(rendered(base, new, "json"))
    assert document["base"] == {"names": ["pretrained"], "runs": 5}
    assert document["new"] == {"names": ["pretrained"], "runs": 5}
