from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from invented_trainers import straggling_trainer
from profile_strategies import profiles

import ticktree.analysis.rules
from ticktree.analysis import Finding, findings
from ticktree.analysis.finding import severity_of
from ticktree.analysis.ordering import GENERIC
from ticktree.analysis.registry import RULES
from ticktree.profile import Node, Profile

DOCS = Path(__file__).parents[2] / "docs" / "rules"
NAMES = [rule.name for rule in RULES]


class Says:
    """A rule that finds what it is told to."""

    name = "says"

    def __init__(self, *found: Finding) -> None:
        self.found = found

    def find(self, seen):
        yield from self.found


def of(severity, message, **evidence) -> Finding:
    return Finding("says", severity, "", message, evidence)


def with_a_section():
    return Profile(root=Node(name="root", children={"a": Node(name="a")}))


def test_the_most_severe_is_first_then_what_has_most_at_stake_then_the_first_rule():
    first = Says(of("info", "d"), of("warning", "b", at_stake_share=0.12))
    second = Says(of("info", "c", at_stake_share=0.01), of("critical", "a"), of("info", "e"))
    assert [found.message for found in findings(with_a_section(), rules=[first, second])] == list("abcde")


def about(path, rule="says", **evidence):
    return Finding(rule, "info", path, f"{rule} of {path}", evidence)


def kept(*found):
    return [finding.message for finding in findings(with_a_section(), rules=[Says(*found)])]


def test_who_says_why_takes_the_place_of_who_says_how_much():
    specific = about("a", at_stake_share=0.2)
    generic = (about("a", "slow", at_stake_share=0.3), about("a", "memory"), about("b", "critical"))
    assert kept(*generic, specific) == ["says of a", "critical of b"]


def test_who_explains_little_of_it_does_not():
    generic = about("a", "critical", at_stake_share=0.4)
    assert kept(about("a", at_stake_share=0.1), generic) == ["critical of a", "says of a"]
    assert kept(about("a"), generic) == ["critical of a", "says of a"]  # it says nothing of what is at stake
    assert kept(about("", at_stake_share=1), about("", "slow")) == [
        "says of ",
        "slow of ",
    ]  # of the whole run


def test_every_rule_that_only_says_how_much_is_one_of_those_there_are():
    assert set(NAMES) >= GENERIC


@pytest.mark.parametrize(
    ("share", "severity"),
    [(0, "info"), (0.09, "info"), (0.1, "warning"), (0.29, "warning"), (0.3, "critical"), (1, "critical")],
)
def test_how_severe_something_is_follows_from_what_is_at_stake(share, severity):
    assert severity_of(share) == severity


def test_a_finding_as_json_has_the_fields_of_the_contract():
    found = of("info", "x", calls=3).to_dict()
    assert found == {
        "rule": "says",
        "severity": "info",
        "path": "",
        "message": "x",
        "evidence": {"calls": 3},
    }


def test_every_rule_has_a_file_a_page_and_a_line_in_the_index():
    files = {path.stem for path in Path(ticktree.analysis.rules.__path__[0]).glob("*.py")} - {"__init__"}
    assert files == {name.replace("-", "_") for name in NAMES}
    assert {path.stem for path in DOCS.glob("*.md")} == {*NAMES, "README", "writing-your-own"}
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[[\w-]+\]\(([\w-]+)\.md\) \|(.+)\|$", index, re.MULTILINE))
    assert set(rows) == set(NAMES)
    assert all(cell.strip() for row in rows.values() for cell in row.split(" | "))
    assert {row.count(" | ") for row in rows.values()} == {2}  # what it finds, from where on, what to do


@settings(max_examples=60)
@given(profiles())
def test_no_profile_is_too_strange_to_be_judged(profile):
    for found in findings(profile):
        assert found.rule in NAMES
        assert found.message
        assert all(isinstance(value, (str, int, float)) for value in found.evidence.values())
    assert findings(profile) == findings(profile)


def test_findings_rest_on_nodes_that_are_there():
    profile = straggling_trainer()
    assert all(profile.root.at(found.path) for found in findings(profile))


def test_of_nothing_there_is_nothing_to_say():
    assert findings(Profile.empty()) == []
