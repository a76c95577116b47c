"""The previous actions are copied for every inference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.cycles.cycle import LEAST_TRIPS, Cycle, Spot
from ticktree.analysis.cycles.kinds import PREVIOUS_ACTIONS, inference, moves_data, spots_of
from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent, size

# So much of a cycle: what is around inference, in a guide that expects 1 to 5 ms of it for 100 to 200 ms. It names
# large buffers of previous actions as a cause, but gives no number of their own.
OF_THE_CYCLE_SHARE = 0.05
# "Each time": in at least nine of ten inferences, or trips where there is none. Our own choice.
EACH_TIME_SHARE = 0.9


class BufferCopiesRule:
    """Each copy of the previous actions that takes long; see docs/rules/buffer-copies.md."""

    name: ClassVar[str] = "buffer-copies"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each section that handles previous actions each time, copies, and takes long."""
        for cycle in seen.cycles:
            times = _times(cycle, seen)
            for spot in spots_of(cycle, PREVIOUS_ACTIONS, seen):
                is_long = spot.share >= OF_THE_CYCLE_SHARE and spot.calls >= LEAST_TRIPS
                if is_long and _copies(spot) and spot.calls >= EACH_TIME_SHARE * times:
                    yield self._finding(spot)

    def _finding(self, spot: Spot) -> Finding:
        moved = _moved(spot)
        evidence: dict[str, str | int | float] = {
            "a_call_ns": spot.mean_ns,
            "calls": spot.calls,
        }
        if moved is not None:
            evidence["a_call_bytes"] = moved
        what = f"{size(moved)} in " if moved is not None else ""
        return Finding(
            rule=self.name,
            claim=Claim(spot.share, spot.cycle.path),
            path=spot.path,
            message=(
                f"{spot.name} copies {what}{duration(spot.mean_ns)} each time, {percent(spot.share)} of "
                f"{spot.cycle.name}: keep only the actions that are still to do, in one preallocated tensor on the "
                "model's device, and give out views of it"
            ),
            evidence=evidence,
        )


def _times(cycle: Cycle, seen: Survey) -> int:
    """Return how often there was an inference; how many trips where none is known."""
    return max((spot.calls for spot in inference(cycle, seen)), default=cycle.trips)


def _copies(spot: Spot) -> bool:
    """Tell whether `spot` copies: it, or most of what is in it, says so and how much or by its name."""
    inside = [each for each in spot.below if moves_data(each.name) or each.bytes_a_call is not None]
    if spot.bytes_a_call is not None or moves_data(spot.name):
        return True
    return 2 * sum(each.ns for each in inside) >= spot.ns > 0


def _moved(spot: Spot) -> float | None:
    """Return how many bytes a call moves, said by itself or by what is right in it; None where nobody says."""
    if spot.bytes_a_call is not None:
        return spot.bytes_a_call
    said = [each.bytes_a_call * each.calls for each in spot.below if each.bytes_a_call is not None]
    return sum(said) / spot.calls if said and spot.calls else None
