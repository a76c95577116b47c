"""Copies to a GPU that wait because their memory is pageable."""

from __future__ import annotations

import pytest

from support.findings import findings
from support.rule_programs import Program
from ticktree.analysis.rules.torch import PageableCopiesRule


def findings_of(pinned: float, size: int = 37_700_000, ms: float = 4.0):
    """A loop of 20 ms per tick besides its copy, with this share of copies from pinned memory."""
    with Program() as program:
        for number in program.ticks(100, "train"):
            program.gauge("torch/pinned copies", int(number < 100 * pinned))
            program.spend("copy to cuda", ms, bytes=size)
            program.spend("update", 20 - ms)
        return findings(program.profile(), rules=[PageableCopiesRule()])


@pytest.mark.parametrize("pinned", [0, 0.4])
def test_copies_that_are_mostly_from_pageable_memory_are_reported(pinned: float) -> None:
    (finding,) = findings_of(pinned)
    assert (finding.path, finding.loop) == ("train/copy to cuda", "train")
    assert finding.saved_share == pytest.approx(0.2)
    assert "copies 37.7 MB from pageable memory per call, and waits 4.00 ms for it" in finding.message


def test_pinned_small_and_short_copies_are_none() -> None:
    assert findings_of(pinned=0.6) == []
    assert findings_of(pinned=0, size=60_000) == []
    assert findings_of(pinned=0, ms=0.8) == []
    with Program() as program:  # nothing is known of its memory
        for _ in program.ticks(100, "train"):
            program.spend("copy to cuda", 5, bytes=1_000_000)
        assert findings(program.profile(), rules=[PageableCopiesRule()]) == []
