"""One section alone takes a great part of a loop's tick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.bottlenecks import Bottleneck
from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.settings import Thresholds
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import gain, of_bottleneck, percent, tick_name


class CriticalRule:
    """Each section whose own time is more than 30% of its loop's tick; see docs/rules/critical.md."""

    name: ClassVar[str] = "critical"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each such section, loop by loop."""
        for one in seen.bottlenecks:
            if is_critical(one, seen.settings.thresholds) and one.saving is not None:
                yield Finding(
                    rule=self.name,
                    kind="size",
                    claim=Claim(one.share, one.view.path),
                    path=one.section.path,
                    message=(
                        f"{of_bottleneck(one)}: {percent(one.share)} of {tick_name(one.view)}; were it free, "
                        f"{gain(one.view, one.saving)}"
                    ),
                    evidence=timing(one),
                )


def is_critical(one: Bottleneck, thresholds: Thresholds) -> bool:
    """Tell whether `one` is work whose own time is a critical part of the tick, and would be saved.

    Where it is all of it, nobody is told anything new.
    """
    is_part = one.saving is not None and one.saving.speedup is not None
    is_large = (
        one.share > thresholds.critical_share and one.saving is not None and one.saving.share >= LEAST_SHARE
    )
    return is_work(one) and is_part and is_large


def is_work(one: Bottleneck) -> bool:
    """Tell whether `one` is a section that works on the loop's path, and no loop of its own."""
    return one.saving is not None and not one.section.is_wait and not one.section.is_loop


def timing(one: Bottleneck) -> dict[str, str | int | float]:
    """Return the evidence of how long a bottleneck takes."""
    said: dict[str, str | int | float] = {
        "a_tick_ns" if one.view.loop else "in_all_ns": round(one.section.self_ns)
    }
    if one.call_ns is not None and one.call_ns != one.section.self_ns:
        said["a_call_ns"] = round(one.call_ns)
    calls = round(one.section.calls * one.view.ticks)
    if calls > 1:
        said["calls"] = calls
    return said
