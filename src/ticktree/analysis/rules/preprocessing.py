"""Preparing a model's input takes too long beside the model itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from ticktree.analysis.finding import WARNING_SHARE, Claim, Evidence, Finding
from ticktree.analysis.loops import DOMINATES_SHARE, LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.section_kinds import PREPROCESSING, inference, sections_of, together_ns
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent, size

# A guide to the real-time chunking of robot policies expects 5 to 20 ms of preprocessing for 100 to 200 ms of
# inference: at most a fifth of it, the most of the one against the least of the other.
OF_INFERENCE_SHARE = 0.2


class PreprocessingRule:
    """Each loop's preprocessing where it is out of proportion; see docs/rules/preprocessing.md."""

    name: ClassVar[str] = "preprocessing"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop in which preprocessing takes a tenth and too much for its inference."""
        for view in seen.repeated:
            sections = [
                section for section in sections_of(view, PREPROCESSING, seen) if section.count >= LEAST_TICKS
            ]
            took_ns = together_ns(sections)
            if not sections or view.share(took_ns) < WARNING_SHARE:
                continue
            model = inference(view, seen)
            inside_ns = together_ns(
                [section for section in sections if any(each in model for each in section.above())]
            )
            model_ns = together_ns(model) - inside_ns
            if model_ns > 0 and took_ns > OF_INFERENCE_SHARE * model_ns:
                yield self._finding(view, sections, took_ns, model_ns)
            elif model_ns <= 0 and _dominates(view, took_ns):
                yield self._finding(view, sections, took_ns, None)

    def _finding(
        self, view: LoopView, sections: Sequence[SectionView], took_ns: float, model_ns: float | None
    ) -> Finding:
        chief = max(sections, key=lambda section: section.total_ns)
        evidence: dict[str, str | int | float] = {
            "of_it_in_the_longest_ns": chief.total_ns,
            "preprocessing_each_time_ns": took_ns,
        }
        if model_ns is not None:
            evidence["inference_each_time_ns"] = model_ns
        return Finding(
            rule=self.name,
            claim=Claim(view.share(took_ns), view.path),
            path=chief.path,
            message=_said(view, chief, took_ns, model_ns),
            evidence={**evidence, **_rate(chief), "calls": chief.count},
        )


def _dominates(view: LoopView, took_ns: float) -> bool:
    # A section that is no loop may be a helper whose only task is to prepare, beside whoever uses what it gives.
    return view.loop is not None and view.needed_share(took_ns) >= DOMINATES_SHARE


def _said(view: LoopView, chief: SectionView, took_ns: float, model_ns: float | None) -> str:
    each = f"{duration(took_ns)} of the {duration(view.tick_ns)} of each {view.tick}"
    than = f"{percent(view.needed_share(took_ns))} of its work"
    if model_ns is not None:
        than = f"{percent(took_ns / model_ns)} as long as its inference takes, where at most 20% are usual"
    moved = f" for {size(chief.bytes_per_call)}" if chief.bytes_per_call is not None else ""
    return (
        f"preprocessing takes {each}, {than}, most of it in {chief.name} ({duration(chief.call_ns)} a call{moved}): "
        "have the camera or the renderer give smaller or fewer pictures, and do what is left in one pass into "
        "memory that is used again"
    )


def _rate(section: SectionView) -> Evidence:
    return {"a_second_bytes": section.bytes_per_s} if section.bytes_per_s is not None else {}
