"""The best of many rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

_LEAST_ROUNDS = 5
# No clock tells less apart, and nothing takes no time.
_SHORTEST_S = 1e-9


def best_s(round_: Callable[[], object], seconds: float) -> float:
    """Return the seconds of the shortest of as many rounds as fit in `seconds`, of five at least."""
    (best,) = bests_s([round_], seconds)
    return best


def bests_s(pieces: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """Return, of rounds that consist of `pieces`, the shortest seconds of each piece.

    Args:
        pieces: Called one after the other, again and again.
        seconds: How long; five rounds at least.
    """
    clock = time.perf_counter
    best, rounds, end = [float("inf")] * len(pieces), 0, clock() + seconds
    while rounds < _LEAST_ROUNDS or clock() < end:
        for at, piece in enumerate(pieces):
            began = clock()
            piece()
            best[at] = min(best[at], clock() - began)
        rounds += 1
    return [max(shortest, _SHORTEST_S) for shortest in best]
