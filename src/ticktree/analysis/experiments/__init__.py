"""Experiments: how much shorter a loop's ticks become if a section takes less time, measured in one run."""

from ticktree.analysis.experiments.choosing import Choice, NoExperimentError, choose, contended, deadline
from ticktree.analysis.experiments.deadlines import PredictedMisses, predicted_misses
from ticktree.analysis.experiments.estimates import (
    FASTER,
    NOTHING,
    SLOWER,
    Block,
    Experiments,
    Intervention,
    Prediction,
    Slope,
    estimate,
    exact,
    plans,
)

__all__ = [
    "FASTER",
    "NOTHING",
    "SLOWER",
    "Block",
    "Choice",
    "Experiments",
    "Intervention",
    "NoExperimentError",
    "PredictedMisses",
    "Prediction",
    "Slope",
    "choose",
    "contended",
    "deadline",
    "estimate",
    "exact",
    "plans",
    "predicted_misses",
]
