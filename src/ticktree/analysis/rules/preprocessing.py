"""Preparing a model's input takes too long beside the model itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from ticktree.analysis.cycles.cycle import DOMINATES_SHARE, LEAST_TRIPS, Cycle, Spot
from ticktree.analysis.cycles.kinds import PREPROCESSING, inference, spots_of, together_ns
from ticktree.analysis.finding import WARNING_SHARE, Claim, Evidence, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent, size

# A guide to the real-time chunking of robot policies expects 5 to 20 ms of preprocessing for 100 to 200 ms of
# inference: at most a fifth of it, the most of the one against the least of the other.
OF_INFERENCE_SHARE = 0.2


class PreprocessingRule:
    """Each cycle's preprocessing where it is out of proportion; see docs/rules/preprocessing.md."""

    name: ClassVar[str] = "preprocessing"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each cycle in which preprocessing takes a tenth and too much for its inference."""
        for cycle in seen.cycles:
            spots = [spot for spot in spots_of(cycle, PREPROCESSING, seen) if spot.calls >= LEAST_TRIPS]
            took_ns = together_ns(spots)
            if not spots or cycle.share(took_ns) < WARNING_SHARE:
                continue
            model = inference(cycle, seen)
            inside_ns = together_ns([spot for spot in spots if any(each in model for each in spot.above())])
            model_ns = together_ns(model) - inside_ns
            if model_ns > 0 and took_ns > OF_INFERENCE_SHARE * model_ns:
                yield self._finding(cycle, spots, took_ns, model_ns)
            elif model_ns <= 0 and _dominates(cycle, took_ns):
                yield self._finding(cycle, spots, took_ns, None)

    def _finding(self, cycle: Cycle, spots: Sequence[Spot], took_ns: int, model_ns: int | None) -> Finding:
        chief = max(spots, key=lambda spot: spot.ns)
        evidence: dict[str, str | int | float] = {
            "of_it_in_the_longest_ns": cycle.a_trip_ns(chief.ns),
            "preprocessing_each_time_ns": cycle.a_trip_ns(took_ns),
        }
        if model_ns is not None:
            evidence["inference_each_time_ns"] = cycle.a_trip_ns(model_ns)
        return Finding(
            rule=self.name,
            claim=Claim(cycle.share(took_ns), cycle.path),
            path=chief.path,
            message=_said(cycle, chief, took_ns, model_ns),
            evidence={**evidence, **_rate(chief), "calls": chief.calls},
        )


def _dominates(cycle: Cycle, took_ns: int) -> bool:
    # A section that is no loop may be a helper whose only task is to prepare, beside whoever uses what it gives.
    return cycle.loop is not None and cycle.work_share(took_ns) >= DOMINATES_SHARE


def _said(cycle: Cycle, chief: Spot, took_ns: int, model_ns: int | None) -> str:
    each = f"{duration(cycle.a_trip_ns(took_ns))} of the {duration(cycle.mean_ns)} of each {cycle.trip}"
    than = f"{percent(cycle.work_share(took_ns))} of its work"
    if model_ns is not None:
        than = f"{percent(took_ns / model_ns)} as long as its inference takes, where at most 20% are usual"
    moved = f" for {size(chief.bytes_a_call)}" if chief.bytes_a_call is not None else ""
    return (
        f"preprocessing takes {each}, {than}, most of it in {chief.name} ({duration(chief.mean_ns)} a call{moved}): "
        "have the camera or the renderer give smaller or fewer pictures, and do what is left in one pass into "
        "memory that is used again"
    )


def _rate(spot: Spot) -> Evidence:
    return {"a_second_bytes": spot.bytes_per_s} if spot.bytes_per_s is not None else {}
