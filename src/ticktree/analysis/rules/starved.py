"""A queue that is empty when something is to be taken from it: its consumer runs dry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Finding, severity_of
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import percent
from ticktree.analysis.workers.stragglers import LEAST_CALLS
from ticktree.profile import Gauge

# One tick in a hundred without anything to act on is as many as a loop's p99 hides.
DRY_SHARE = 0.01
# So much must have been seen of it: as for the calls of a straggler, and a queue begins empty.
LEAST_DRY = LEAST_CALLS

# Words of names by which programs say how much waits to be taken,
_OF_QUEUES = frozenset({"queue", "queues", "depth", "buffer", "buffers", "backlog"})
# and those by which they say that it is something else about it: how long, how often, what was lost; or a picture.
_OF_TIMES = frozenset(
    {"age", "ages", "delay", "duration", "latency", "time", "ns", "us", "ms", "s", "sec", "seconds"}
)
_OF_WAITS = frozenset({"wait", "waited", "waiting", "waits"})
_OF_LOSSES = frozenset(
    {"drop", "dropped", "drops", "error", "errors", "full", "lost", "overflow", "overflows"}
)
_OF_OTHERS = _OF_TIMES | _OF_WAITS | _OF_LOSSES | {"hz", "rate", "camera", "image", "images", "map"}


class StarvedRule:
    """Each gauge that is a queue's depth and is at 0 too often; see docs/rules/starved.md."""

    name: ClassVar[str] = "starved"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each queue that was empty in more than 1% of the readings, the emptiest first."""
        dry = [gauge for gauge in seen.profile.gauges.values() if is_depth(gauge) and _is_dry(gauge)]
        for gauge in sorted(dry, key=lambda gauge: (-(gauge.zero_share or 0), gauge.name)):
            yield self._finding(gauge)

    def _finding(self, gauge: Gauge) -> Finding:
        share = gauge.zero_share or 0.0
        evidence: dict[str, str | int | float] = {
            "gauge": gauge.name,
            "of_the_readings_share": share,
            "readings_at_0": gauge.zeros,
            "readings": gauge.count,
            "at_most": gauge.max,
        }
        return Finding(
            rule=self.name,
            severity=severity_of(share),
            path="",
            message=f"{gauge.name} is 0 in {percent(share)} of its readings: whoever takes from it runs dry",
            evidence=evidence,
        )


def is_depth(gauge: Gauge) -> bool:
    """Return whether a gauge's name says that it is how much waits in a queue."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", gauge.name)
    words = set(re.findall(r"[a-z]+", spaced.lower()))
    return not words.isdisjoint(_OF_QUEUES) and words.isdisjoint(_OF_OTHERS)


def _is_dry(gauge: Gauge) -> bool:
    # One that was never anything else is of a queue that is not in use.
    return gauge.zeros >= LEAST_DRY and (gauge.zero_share or 0) > DRY_SHARE and gauge.max > 0
