from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_workers import calling, crew, stepping
from support.findings import findings
from ticktree.analysis.rules.workers import ImbalanceRule
from ticktree.profile import Profile


def found(profile: Profile):
    return findings(profile, rules=[ImbalanceRule()])


def test_uneven_shares_are_told_with_what_an_even_share_would_save():
    (one,) = found(crew(calling({n: (100 * (n + 1), 10) for n in range(5)}), count=5))
    assert one.message == (
        "Share the work of 5 × env worker more evenly: env worker 4 is busy 1.7× as long as they are on "
        "average"
    )
    assert (one.rule, one.severity, one.path) == ("imbalance", "warning", "")
    assert one.saving.share == pytest.approx(0.2)
    assert one.facts["imbalance_share"] == pytest.approx(0.5)


def test_even_shares_are_not_spoken_of():
    assert found(crew(stepping([10, 10.5, 10.2, 9.9]))) == []


def test_one_straggler_alone_is_said_by_the_stragglers_rule():
    assert found(crew(stepping([40, 40, 40, 80]))) == []


def test_what_is_left_without_stragglers_is_told():
    took = {n: (100 * (n + 1), 10) for n in range(5)} | {5: (100, 90)}
    (one,) = found(crew(calling(took), count=6))
    assert one.message == (
        "Share the work of 5 × env worker more evenly: env worker 4 is busy 1.7× as long as they are on "
        "average"
    )


def test_too_little_to_matter_is_not_spoken_of():
    uneven = calling({n: (n + 1, 1) for n in range(5)})
    assert found(crew(uneven, count=5)) == []


def test_a_profile_that_does_not_say_who_did_what_has_none():
    profile = crew(calling({n: (100 * (n + 1), 10) for n in range(5)}), count=5)
    assert found(replace(profile, writers={}, root=profile.root)) == []
