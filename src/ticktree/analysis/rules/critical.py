"""One section alone takes a great part of a loop's tick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.bottlenecks.bottleneck import Bottleneck
from ticktree.analysis.bottlenecks.wording import gain, of_bottleneck, tick_name
from ticktree.analysis.finding import Finding, severity_of
from ticktree.analysis.settings import Thresholds
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import percent

# What could be saved must be so much, as for a straggler. A loop that holds its rate and sleeps saves nothing.
LEAST_SHARE = 0.01


class CriticalRule:
    """Each section whose own time is more than 30% of its loop's tick; see docs/rules/critical.md."""

    name: ClassVar[str] = "critical"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each such section, the loop that went on longest first."""
        for one in seen.bottlenecks:
            if is_critical(one, seen.settings.thresholds) and one.ceiling is not None:
                share, stake = at_stake(one, seen)
                yield Finding(
                    rule=self.name,
                    severity=severity_of(share),
                    path=one.step.path,
                    message=(
                        f"{of_bottleneck(one)}: {percent(one.share)} of {tick_name(one.frame)}; were it free, "
                        f"{gain(one.frame, one.ceiling)}"
                    ),
                    evidence={**stake, **timing(one)},
                )


def is_critical(one: Bottleneck, thresholds: Thresholds) -> bool:
    """Tell whether `one` is work whose own time is a critical part of the tick, and would be saved.

    Where it is all of it, nobody is told anything new.
    """
    is_part = one.ceiling is not None and one.ceiling.speedup is not None
    is_large = one.share > thresholds.critical_share and one.at_stake_share >= LEAST_SHARE
    return is_work(one) and is_part and is_large


def is_work(one: Bottleneck) -> bool:
    """Tell whether `one` is a section that works on the loop's path, and no loop of its own."""
    return one.ceiling is not None and not one.step.is_wait and not one.step.is_loop


def at_stake(one: Bottleneck, seen: Survey) -> tuple[float, dict[str, str | int | float]]:
    """Return what part would be saved at most, and the evidence that says so: of the loop's time, or of the run's.

    Of a loop that matters its own time counts: how long a short run sets up and shuts down says nothing of a long one.
    Of a loop that hardly matters it is a part of the run.
    """
    share = one.at_stake_share
    if one.frame.loop is not None and any(one.frame is frame for frame in seen.chief_frames):
        return share, {"at_stake_share": share, "loop": one.frame.path}
    if seen.run_ns > 0:
        share = min(share, share * one.frame.tick_ns * one.frame.ticks / seen.run_ns)
    return share, {"at_stake_share": share}


def timing(one: Bottleneck) -> dict[str, str | int | float]:
    """Return the evidence of how long a bottleneck takes."""
    said: dict[str, str | int | float] = {
        "a_tick_ns" if one.frame.loop else "in_all_ns": round(one.step.self_ns)
    }
    if one.call_ns is not None and one.call_ns != one.step.self_ns:
        said["a_call_ns"] = round(one.call_ns)
    calls = round(one.step.calls * one.frame.ticks)
    if calls > 1:
        said["calls"] = calls
    return said
