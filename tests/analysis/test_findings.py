from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.example_trainers import straggling_trainer
from support.findings import findings
from support.profile_strategies import profiles
from ticktree.analysis import Finding
from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim, severity_of
from ticktree.analysis.registry import RULES
from ticktree.outputs.sentences import _TEMPLATES
from ticktree.outputs.sentences.facts import finding_fields
from ticktree.profile import Node, Profile

DOCS = Path(__file__).parents[2] / "docs" / "rules"
NAMES = [rule.name for rule in RULES]


class Says:
    """A rule that finds what it is told to."""

    name = "says"

    def __init__(self, *found: Finding) -> None:
        self.found = found

    def find(self, context):
        yield from self.found


def of(severity, message, share=None, **facts) -> Finding:
    claim = None if share is None else Claim(share)
    return Finding(rule="says", severity=severity, path="", message=message, facts=facts, claim=claim)


def with_a_section():
    """A run of a second."""
    return Profile(root=Node(name="root", self_ns=10**9, children={"a": Node(name="a")}))


def test_the_most_severe_is_first_then_what_saves_most_then_the_first_rule():
    first = Says(of("info", "d", 0.02), of("info", "b", 0.12))
    second = Says(of("info", "c", 0.03), of("critical", "a"), of("info", "e"))
    assert [found.message for found in findings(with_a_section(), rules=[first, second])] == list("abcde")


def about(path, rule="says", share=None, **fields):
    claim = None if share is None else Claim(share)
    return Finding(rule=rule, path=path, message=f"{rule} of {path}", claim=claim, **fields)


def kept(*found):
    return [finding.message for finding in findings(with_a_section(), rules=[Says(*found)])]


def test_a_cause_replaces_the_size_of_the_same_section():
    specific = about("a", share=0.2)
    sizes = [
        about("a", "slow", 0.3, kind="size"),
        about("a", "memory", kind="size"),
        about("b", "critical", 0.3, kind="size"),
    ]
    assert kept(*sizes, specific) == ["says of a", "critical of b"]


def test_a_cause_of_a_small_part_does_not_replace_it():
    size = about("a", "critical", 0.4, kind="size")
    assert kept(size, about("a", share=0.1)) == ["says of a", "critical of a"]
    assert kept(size, about("a")) == ["says of a", "critical of a"]  # it does not say how much it saves
    assert kept(about("", "slow", 1, kind="size"), about("", share=1)) == [
        "says of ",
        "slow of ",
    ]  # of the whole run


def test_a_cause_as_severe_as_the_missed_ticks_replaces_them():
    missed = about("a", "missed-deadline", severity="warning")
    assert kept(missed, about("a", share=0.2)) == ["says of a"]
    assert kept(missed, about("a", share=0.05)) == ["missed-deadline of a", "says of a"]


def test_recommendations_come_before_facts_about_the_measurement_and_those_before_sizes():
    fact = about("", "contended", kind="measurement", severity="critical")
    size = about("b", "critical", 0.9, kind="size")
    assert kept(size, fact, about("a", share=0.02)) == ["says of a", "contended of ", "critical of b"]


def test_findings_that_save_less_than_one_percent_are_left_out():
    assert kept(about("a", share=0.009), about("b", share=0.011)) == ["says of b"]


@settings(max_examples=60)
@given(profiles(), st.floats(0, 3))
def test_no_finding_claims_more_than_its_loop_can_save(profile, share):
    context = Context(profile)
    claims = [Claim(share, view.path) for view in context.loops]
    rule = Says(*(Finding(rule="says", path="", message=claim.path, claim=claim) for claim in claims))
    for found in [*findings(profile), *findings(profile, rules=[rule])]:
        view = context.view_of(found.loop or "")
        if found.saving is not None and view is not None and view.loop is not None:
            # A tick that holds its rate does not become shorter than its budget, or than it is.
            assert found.saving.headroom_ns <= view.tick_ns - view.slack_ns + 1e-6
            shortest_ns = (view.loop.budget_ns or view.tick_ns) if view.slack_ns else 0
            assert found.saving.ns <= max(0.0, view.tick_ns - shortest_ns) + 1e-6
        assert 0 <= found.saved_share <= 1 + 1e-9


@pytest.mark.parametrize(
    ("share", "severity"),
    [(0, "info"), (0.09, "info"), (0.1, "warning"), (0.29, "warning"), (0.3, "critical"), (1, "critical")],
)
def test_severity_follows_from_the_saved_share(share, severity):
    assert severity_of(share) == severity


def test_a_finding_as_json_has_the_fields_of_the_contract():
    found = finding_fields(of("info", "x", calls=3, slept_ns=5, worker="actor 1"))
    assert found == {
        "rule": "says",
        "kind": "recommendation",
        "severity": "info",
        "path": "",
        "loop": None,
        "message": "x",
        "saving": None,
        "metrics": [{"key": "calls", "value": 3, "unit": ""}, {"key": "slept", "value": 5, "unit": "ns"}],
    }


def test_every_rule_has_a_sentence_a_page_and_a_line_in_the_index():
    assert set(_TEMPLATES) == set(NAMES)
    assert {path.stem for path in DOCS.glob("*.md")} == {*NAMES, "README", "writing-your-own"}
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    lines = dict(re.findall(r"^- \[[\w-]+\]\(([\w-]+)\.md\): (.+)$", index, re.MULTILINE))  # what it finds
    assert set(lines) == set(NAMES)


@settings(max_examples=60)
@given(profiles())
def test_any_profile_can_be_judged(profile):
    for found in findings(profile):
        assert found.rule in NAMES
        assert found.message
        assert all(isinstance(value, (str, int, float)) for value in found.facts.values())
    assert findings(profile) == findings(profile)


def test_findings_are_about_existing_nodes():
    profile = straggling_trainer()
    assert all(profile.root.at(found.path) for found in findings(profile))


def test_an_empty_profile_has_no_findings():
    assert findings(Profile.empty()) == []
