"""A backward pass computes gradients that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.loops import SectionView
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent
from ticktree.profile import Gauge

# What instruments/torch/gradients.py calls a pass that was seen to compute gradients that are cleared before any step
# uses them, and the gauge of what part of all numbers in its gradients that are.
SECTION = "backward with unused gradients"
GAUGE = "torch/unused gradients"
# The section begins once a pass was caught three times: what is in it is no guess, and as many calls give it a time.
LEAST_CALLS = 3


class UnusedGradientsRule:
    """Each backward pass whose gradients were seen to be thrown away; see docs/rules/unused-gradients.md."""

    name: ClassVar[str] = "unused-gradients"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each such pass that takes a hundredth of its tick."""
        unused = seen.profile.gauges.get(GAUGE)
        for view in seen.repeated:
            for section in view.path_sections:
                if section.name == SECTION and section.count >= LEAST_CALLS and section.share >= LEAST_SHARE:
                    yield self._finding(section, unused)

    def _finding(self, section: SectionView, unused: Gauge | None) -> Finding:
        evidence: dict[str, str | int | float] = {
            "a_call_ns": section.call_ns,
            "calls": section.count,
        }
        part = ""
        if unused is not None:
            evidence["of_the_gradients_unused_share"] = unused.last
            part = f", {percent(unused.last)} of all it computes"
        return Finding(
            rule=self.name,
            claim=Claim(section.share, section.view.path),
            path=section.path,
            message=(
                f"the backward pass in {_around(section)} ({duration(section.call_ns)}, {percent(section.share)} of "
                f"{section.view.name}) also computes gradients of parameters that its step does not change{part}: "
                "they are cleared unused; switch them off with requires_grad_(False) on those networks before the "
                "loss is computed, and on again after its backward"
            ),
            evidence=evidence,
        )


def _around(section: SectionView) -> str:
    """Return the sections around `section`, two of them: the inner one is often just called "backward"."""
    names = [each.name for each in section.above()][:2]
    return " of ".join(names) if names else section.view.name
