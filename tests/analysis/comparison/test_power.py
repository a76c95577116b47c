"""What pairs that cannot tell could have found, and how many it takes."""

from __future__ import annotations

import numpy as np
import pytest

import ticktree
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.comparison.power import SHIFT, power_of_pairs
from ticktree.analysis.comparison.shift import within_pairs
from ticktree.outputs.comparison import remarks

LEVEL = 0.05
TRIALS = 300


def found(shift, noise, pairs, rng):
    """In which part of the trials the interval of so many pairs leaves out 0."""
    alarms = 0
    for _ in range(TRIALS):
        base, new = np.exp(rng.normal(0, noise / np.sqrt(2), (2, pairs)))
        alarms += within_pairs(base, new * (1 + shift), 1 - LEVEL).low > 0
    return alarms / TRIALS


@pytest.mark.parametrize(("noise", "pairs"), [(0.05, 12), (0.1, 20), (0.3, 30)])
def test_nine_of_ten_comparisons_detect_the_predicted_shift(noise, pairs):
    rng = np.random.default_rng(5)
    powers = [
        power_of_pairs(*np.exp(rng.normal(0, noise / np.sqrt(2), (2, pairs))), LEVEL) for _ in range(50)
    ]
    shift = float(np.median([power.shift for power in powers]))
    assert 0.8 < found(shift, noise, pairs, rng) < 0.98
    needed = int(np.median([power.pairs_needed for power in powers]))
    assert 0.8 < found(SHIFT, noise, needed, rng) < 0.98


def test_twice_the_noise_needs_four_times_the_pairs():
    steps = np.random.default_rng(1).normal(0, 0.1, 40)
    one, two = (power_of_pairs(np.ones(40), np.exp(times * steps), LEVEL) for times in (1, 2))
    assert two.pairs_needed == pytest.approx(4 * one.pairs_needed, rel=0.1)


def test_two_pairs_have_no_power_and_extreme_noise_needs_too_many_pairs():
    assert power_of_pairs([1.0, 2.0], [2.0, 1.0], LEVEL) is None
    assert power_of_pairs([1.0, 1.0, 1.0], [1e90, 1e-90, 1.0], LEVEL).pairs_needed is None


def run_of(tick_ns):
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("train", range(8)):
        recorder.advance(int(tick_ns))
    profile = recorder.snapshot()
    recorder.disable()
    return profile


def test_inconclusive_pairs_have_their_detectable_shift():
    rng = np.random.default_rng(2)
    base, new = ([run_of(1e7 * np.exp(rng.normal(0, 0.1))) for _ in range(10)] for _ in range(2))
    compared = compare(base, new, paired=True)
    (loop,) = [entry for entry in compared.entries if entry.kind == "loop"]
    assert loop.verdict == "inconclusive"
    document = loop.to_dict()
    assert 5 < document["detectable_percent"] < 40
    assert 30 < document["pairs_for_5_percent"] < 400
    (line,) = [line for line in remarks(compared) if line.startswith("train:")]
    assert "10 pairs as noisy as these detect" in line
    assert "5% needs about" in line
    told = compare([run_of(1e7)] * 10, [run_of(2e7)] * 10, paired=True)
    assert all(entry.power is None for entry in told.entries)
    assert not any(line.startswith("train:") for line in remarks(told))
