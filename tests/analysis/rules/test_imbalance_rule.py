from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_workers import calling, run_of_workers, stepping
from support.findings import findings
from ticktree.analysis.rules.workers import ImbalanceRule
from ticktree.profile import Profile


def findings_of(profile: Profile):
    return findings(profile, rules=[ImbalanceRule()])


def test_uneven_shares_are_reported_with_the_saving_of_an_even_share():
    (finding,) = findings_of(run_of_workers(calling({n: (100 * (n + 1), 10) for n in range(5)}), count=5))
    assert finding.message == (
        "Share the work of 5 × env worker more evenly: env worker 4 is busy 1.7× as long as they are on "
        "average"
    )
    assert (finding.rule, finding.severity, finding.path) == ("imbalance", "warning", "")
    assert finding.saving.share == pytest.approx(0.2)
    assert finding.facts["imbalance_share"] == pytest.approx(0.5)


def test_even_shares_are_not_reported():
    assert findings_of(run_of_workers(stepping([10, 10.5, 10.2, 9.9]))) == []


def test_a_single_straggler_is_left_to_the_straggler_rule():
    assert findings_of(run_of_workers(stepping([40, 40, 40, 80]))) == []


def test_the_imbalance_without_stragglers_is_reported():
    took = {n: (100 * (n + 1), 10) for n in range(5)} | {5: (100, 90)}
    (finding,) = findings_of(run_of_workers(calling(took), count=6))
    assert finding.message == (
        "Share the work of 5 × env worker more evenly: env worker 4 is busy 1.7× as long as they are on "
        "average"
    )


def test_too_little_to_matter_is_not_reported():
    uneven = calling({n: (n + 1, 1) for n in range(5)})
    assert findings_of(run_of_workers(uneven, count=5)) == []


def test_a_profile_that_does_not_say_who_did_what_has_none():
    profile = run_of_workers(calling({n: (100 * (n + 1), 10) for n in range(5)}), count=5)
    assert findings_of(replace(profile, threads={}, root=profile.root)) == []
