"""A single call of a section takes long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.bottlenecks import Bottleneck
from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.rules.critical import is_critical, is_work, timing
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, gain, of_bottleneck

# Less of a tick is not worth a line, however long it takes. Our own choice.
TRIFLE_SHARE = 0.05


class SlowRule:
    """Each section whose mean call has more than 100 ms of own time; see docs/rules/slow.md."""

    name: ClassVar[str] = "slow"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each such section of which its part of the tick has not said more."""
        thresholds = seen.settings.thresholds
        for one in seen.bottlenecks:
            is_slow = one.call_ns is not None and one.call_ns > thresholds.slow_ns
            if not is_slow or one.call_ns is None or not is_work(one) or is_critical(one, thresholds):
                continue
            if _is_trifle(one, one.call_ns):
                continue
            yield Finding(
                rule=self.name,
                kind="size",
                claim=Claim(one.share, one.view.path),
                path=one.section.path,
                message=f"{of_bottleneck(one)}: {duration(one.call_ns)} a call{_gain(one)}",
                evidence=timing(one),
            )


def _is_trifle(one: Bottleneck, call_ns: float) -> bool:
    """Whether neither a call nor all of them are much of a tick: where a tick takes seconds, every layer is slow."""
    return one.view.loop is not None and max(call_ns / one.view.tick_ns, one.share) < TRIFLE_SHARE


def _gain(one: Bottleneck) -> str:
    """Return what would be gained; nothing where that is time to sleep, or all there is."""
    if one.saving is None or one.saving.speedup is None or one.saving.share <= 0:
        return ""
    return f"; were it free, {gain(one.view, one.saving)}"
