"""The previous actions are copied for every inference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.section_kinds import PREVIOUS_ACTIONS, inference, moves_data, sections_of
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent, size

# So much of a tick: what is around inference, in a guide that expects 1 to 5 ms of it for 100 to 200 ms. It names
# large buffers of previous actions as a cause, but gives no number of their own.
OF_THE_TICK_SHARE = 0.05
# "Each time": in at least nine of ten inferences, or trips where there is none. Our own choice.
EACH_TIME_SHARE = 0.9


class BufferCopiesRule:
    """Each copy of the previous actions that takes long; see docs/rules/buffer-copies.md."""

    name: ClassVar[str] = "buffer-copies"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each section that handles previous actions each time, copies, and takes long."""
        for view in seen.repeated:
            times = _times(view, seen)
            for section in sections_of(view, PREVIOUS_ACTIONS, seen):
                is_long = section.share >= OF_THE_TICK_SHARE and section.count >= LEAST_TICKS
                if is_long and _copies(section) and section.count >= EACH_TIME_SHARE * times:
                    yield self._finding(section)

    def _finding(self, section: SectionView) -> Finding:
        moved = _moved(section)
        evidence: dict[str, str | int | float] = {
            "a_call_ns": section.call_ns,
            "calls": section.count,
        }
        if moved is not None:
            evidence["a_call_bytes"] = moved
        what = f"{size(moved)} in " if moved is not None else ""
        return Finding(
            rule=self.name,
            claim=Claim(section.share, section.view.path),
            path=section.path,
            message=(
                f"{section.name} copies {what}{duration(section.call_ns)} each time, {percent(section.share)} of "
                f"{section.view.name}: keep only the actions that are still to do, in one preallocated tensor on the "
                "model's device, and give out views of it"
            ),
            evidence=evidence,
        )


def _times(view: LoopView, seen: Survey) -> int:
    """Return how often there was an inference; how many trips where none is known."""
    return max((section.count for section in inference(view, seen)), default=view.ticks)


def _copies(section: SectionView) -> bool:
    """Tell whether `section` copies: it, or most of what is in it, says so and how much or by its name."""
    inside = [each for each in section.below if moves_data(each.name) or each.bytes_per_call is not None]
    if section.bytes_per_call is not None or moves_data(section.name):
        return True
    return 2 * sum(each.total_ns for each in inside) >= section.total_ns > 0


def _moved(section: SectionView) -> float | None:
    """Return how many bytes a call moves, said by itself or by what is right in it; None where nobody says."""
    if section.bytes_per_call is not None:
        return section.bytes_per_call
    said = [each.bytes_per_call * each.calls for each in section.below if each.bytes_per_call is not None]
    return sum(said) / section.calls if said and section.calls else None
