"""Which of the models know this car: those whose auxiliary model foretells what it does."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .pilot import MEASURED_WIDTH, Pilot

_FORGETTING = 0.1
_DOUBT = 0.002


class AuxiliaryMerge:
    """Compares what each auxiliary model expected with what came, and weighs the pilots by it.

    Attributes:
        weights: How much each pilot counts, together 1.
    """

    def __init__(self, pilots: Sequence[Pilot]) -> None:
        self._models = [pilot.auxiliary for pilot in pilots]
        self._expected: Tensor | None = None
        self._errors = torch.zeros(len(pilots))
        self.weights = torch.full((len(pilots),), 1.0 / len(pilots))

    def update(self, merged_states: Tensor) -> None:
        """Take in what was measured, and foretell what will be."""
        measured = merged_states[0, -MEASURED_WIDTH:]
        if self._expected is not None:
            errors = (self._expected - measured).square().sum(dim=1)
            self._errors = self._errors.lerp(errors, _FORGETTING)
            self.weights = torch.softmax(-self._errors / _DOUBT, dim=0)
        changes = [model(state) for model, state in zip(self._models, merged_states, strict=True)]
        self._expected = measured + torch.stack(changes)
