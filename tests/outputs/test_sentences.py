from __future__ import annotations

import pytest

from support.example_findings import EXAMPLES, sample, shown
from ticktree.analysis.registry import RULES


def test_every_rule_has_an_example():
    assert set(EXAMPLES) == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", sorted(EXAMPLES))
def test_the_page_of_a_rule_shows_its_message(rule):
    assert shown(rule) == sample(rule)
