"""What trying a remedy says: which there are, whether results are the same, and which is kept."""

from __future__ import annotations

import pytest

from ticktree.analysis.comparison.shift import Shift
from ticktree.analysis.experiments.results import Results
from ticktree.analysis.experiments.trials import (
    LEAST_PAIRS,
    REMEDIES,
    Remedy,
    Trial,
    Trials,
    best_of,
    remedies_for,
    tick_shift,
)
from ticktree.analysis.finding import Finding
from ticktree.analysis.registry import RULES
from ticktree.instruments.remedies import PATCHES
from ticktree.profile import Loop, Node, Profile, Stats

MS = 10**6


def trial(name: str, estimate: float, verdict: str = "faster", results: str = "unchanged") -> Trial:
    shift = Shift(estimate, estimate - 0.01, estimate + 0.01)
    remedies, rules = (Remedy(name, ("rule",)),), ("rule",)
    return Trial(remedies, rules, 6, 10.0, 10 * (1 + estimate), shift, verdict, Results(results, 3))


def test_every_remedy_is_for_existing_rules_and_can_be_applied() -> None:
    assert {rule for remedy in REMEDIES for rule in remedy.rules} <= {rule.name for rule in RULES}
    assert {remedy.name for remedy in REMEDIES if remedy.is_patch} == PATCHES.keys()
    for remedy in REMEDIES:
        assert remedy.is_patch or remedy.environment
        assert remedy.lines or remedy.environment  # what keeps it


def test_remedies_are_of_recommendations_in_their_order() -> None:
    found = [
        Finding(rule="allocation", path="train"),
        Finding(rule="unused-gradients", path="train/actor/backward"),
        Finding(rule="oversubscribed", path="", kind="measurement"),
        Finding(rule="drift", path="train"),
        Finding(rule="slow-loader", path="train/DataLoader load", facts={"workers": 5}),
    ]
    chosen = remedies_for(found)
    assert list(chosen) == ["huge-pages", "keep-memory", "unused-gradients", "loader-workers"]
    assert chosen["unused-gradients"][1] is found[1]
    assert chosen["loader-workers"][0].word == "loader-workers=5"


def test_workers_that_are_restarted_get_persistence_and_no_new_number() -> None:
    chosen = remedies_for([Finding(rule="slow-loader", path="train/start", facts={"starts": 9})])
    assert [remedy.word for remedy, _ in chosen.values()] == ["persistent-workers"]


# -- verdicts ------------------------------------------------------------------------------------------------------


def of_ticks(mean_ns: int) -> Profile:
    stats = Stats.of([mean_ns] * 20)
    train = Node(name="train", self_ns=stats.sum_ns, steady=stats)
    root = Node(name="root", children={"train": train})
    return Profile(root, loops={"train": Loop(path="train", ticks=20, stats=stats, busy_ns=stats.sum_ns)})


def test_the_minimum_number_of_pairs_can_give_a_verdict() -> None:
    base = [of_ticks((100 + noise) * MS) for noise in range(LEAST_PAIRS)]
    new = [of_ticks((90 + noise) * MS) for noise in range(LEAST_PAIRS)]
    assert tick_shift(base, new, "train", 0.02)[3] == "faster"
    assert tick_shift(new, base, "train", 0.02)[3] == "slower"
    assert tick_shift(base[1:], new[1:], "train", 0.02)[3] == "inconclusive"


def test_only_a_faster_remedy_with_the_same_results_is_recommended() -> None:
    tried = [
        trial("changes", -0.5, results="changed"),
        trial("unknown", -0.4, results="not comparable"),
        trial("second", -0.1),
        trial("first", -0.2),
        trial("no gain", -0.3, verdict="inconclusive"),
    ]
    assert [each.name for each in best_of(tried, 2)] == ["first", "second"]
    alone = Trials("train.py", "train", tried, winner=trial("first", -0.2))
    assert alone.kept is alone.winner
    assert Trials("train.py", "train", tried, winner=trial("first", 0.0, "inconclusive")).kept is None


@pytest.mark.parametrize(("gain", "is_kept"), [(-0.25, True), (-0.15, False)])
def test_two_remedies_are_recommended_if_they_gain_more_than_the_best_alone(
    gain: float, is_kept: bool
) -> None:
    found = Trials("train.py", "train", winner=trial("first", -0.2), both=trial("both", gain))
    assert found.kept is (found.both if is_kept else found.winner)
