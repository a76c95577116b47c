"""How many examples the longest tests run: CI repeats the same examples each time, so a part of them finds as much."""

from __future__ import annotations

import os

import pytest

THOROUGH = bool(os.environ.get("TICKTREE_THOROUGH"))
thorough = pytest.mark.skipif(not THOROUGH, reason="only with TICKTREE_THOROUGH=1 (make test-thorough)")


def part_of(many: int) -> int:
    """Return how many of so many examples to take: all with TICKTREE_THOROUGH=1, else a fifth."""
    return many if THOROUGH else -(-many // 5)
