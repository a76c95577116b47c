from __future__ import annotations

from dataclasses import replace

from ticktree.analysis.comparison.shift import Shift
from ticktree.analysis.experiments.results import Results
from ticktree.analysis.experiments.trials import REMEDIES, Trial, Trials
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.trials import TRIALS

REMEDY = {remedy.name: remedy for remedy in REMEDIES}
FROZEN = Trial(
    remedies=(REMEDY["unused-gradients"],),
    rules=("unused-gradients",),
    pairs=6,
    base_ns=2.04e9,
    new_ns=1.68e9,
    shift=Shift(-0.175, -0.218, -0.123),
    verdict="faster",
    results=Results("unchanged", 17),
)
KEPT = replace(FROZEN, remedies=(REMEDY["keep-memory"],), rules=("allocation",))
BOTH = replace(FROZEN, remedies=FROZEN.remedies + KEPT.remedies, shift=Shift(-0.308, -0.557, -0.245))


def render_text(trials: Trials, width: int = 100) -> str:
    return TRIALS["terminal"](trials, ViewOptions(width=width)).decode()


def test_the_second_remedy_is_named_below_the_first_and_fits_its_line():
    text = render_text(Trials("train.py", "train", [FROZEN, KEPT], FROZEN, BOTH))
    rows = [line.split("  ")[0] for line in text.splitlines()]
    assert rows[2:9] == [
        *("compared with none", "unused-gradients", "keep-memory", ""),
        *("in fresh pairs", "unused-gradients", "+ keep-memory"),
    ]
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert "Verified: unused-gradients + keep-memory. Keep it with:" in text


def test_a_combination_without_gain_is_not_verified():
    worse = replace(BOTH, shift=Shift(-0.1, -0.2, -0.05))
    text = render_text(Trials("train.py", "train", [FROZEN, KEPT], FROZEN, worse))
    assert "Verified: unused-gradients. Keep it with:" in text


def test_a_remedy_that_changes_the_results_is_not_verified():
    changed = replace(FROZEN, results=Results("changed", 17, "line 3: 0.5 became 0.7"))
    text = render_text(Trials("train.py", "train", [changed]))
    assert "line 3: 0.5 became 0.7" in text
    assert "Nothing is verified: what made ticks shorter changed the results" in text


def test_only_a_remedy_that_was_not_given_up_may_be_decided_by_more_pairs():
    open_still = replace(FROZEN, shift=Shift(-0.1, -0.3, 0.1), verdict="inconclusive")
    given_up = replace(open_still, pairs=3, shift=Shift(0.014, -1.0, 1.0))
    assert "try more pairs" in render_text(Trials("train.py", "train", [given_up, open_still]))
    assert "No remedy made the ticks shorter." in render_text(Trials("train.py", "train", [given_up]))


def test_workers_are_kept_as_many_as_were_given():
    some = replace(FROZEN, remedies=(replace(REMEDY["loader-workers"], number=5),), rules=("slow-loader",))
    text = render_text(Trials("train.py", "train", [some], some))
    assert (
        "Verified: loader-workers=5. Keep it with:\n  DataLoader(..., num_workers=5, persistent_workers=True)"
        in text
    )
