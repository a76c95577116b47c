from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ticktree.analysis import registry
from ticktree.analysis.registry import RULES, describe_rule

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_every_rule_has_a_description_and_a_page(name):
    rule = describe_rule(name)
    assert rule.about.endswith(".")
    assert " It finds " in rule.about
    assert "docs/" not in rule.about
    assert (ROOT / rule.page).is_file()


def test_a_rule_of_another_distribution_is_described_by_its_docstring(monkeypatch):
    class Theirs:
        """Looks for
        what it likes.

        And more.
        """

        name = "theirs"

    monkeypatch.setattr(
        registry, "third_party_rules", lambda: (SimpleNamespace(rule=None), SimpleNamespace(rule=Theirs()))
    )
    assert describe_rule("theirs") == ("Looks for what it likes.", "")
    assert describe_rule("nobody's") == ("", "")
