"""`bench` looks before all pairs are there, and may stop: that must not make it wrong more often."""

from __future__ import annotations

import numpy as np
import pytest

from ticktree.analysis.comparison.entry import verdict_of
from ticktree.analysis.comparison.power import looks
from ticktree.analysis.comparison.shift import within_pairs

TRIALS = 500


def verdicts(true_shift, noise, pairs):
    """What `bench` ends with, of one section, and after how many pairs."""
    random = np.random.default_rng(20)
    for _ in range(TRIALS):
        base, new = np.exp(random.normal(0, noise, (2, pairs)))
        new *= 1 + true_shift
        for number, confidence in looks(pairs).items():
            verdict = verdict_of(within_pairs(base[:number], new[:number], confidence))
            if verdict != "inconclusive":
                break
        yield verdict, number


@pytest.mark.parametrize("noise", [0.02, 0.05])
@pytest.mark.parametrize("pairs", [10, 20])
def test_equal_programs_differ_in_at_most_5_percent_of_trials(noise, pairs):
    alarms = sum(verdict in ("slower", "faster") for verdict, _ in verdicts(0.0, noise, pairs))
    assert alarms / TRIALS <= 0.05


def test_a_clear_shift_is_detected_early():
    found = list(verdicts(0.05, 0.02, 10))
    assert sum(verdict == "slower" for verdict, _ in found) / TRIALS >= 0.95
    assert np.mean([number for _, number in found]) < 8.5


def test_steady_pairs_show_no_difference_at_the_first_look():
    assert set(verdicts(0.0, 0.003, 10)) == {("no difference", 7)}
