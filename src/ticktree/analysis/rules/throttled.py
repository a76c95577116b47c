"""The cores became slower in the run, or a GPU was slowed down: too hot, or too much power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from ticktree.analysis.finding import Finding, severity_of
from ticktree.analysis.machine import Machine
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import percent
from ticktree.profile import Gauge
from ticktree.profile.histogram import middle_of
from ticktree.profile.machine import gpus

# Cores that clock up and down with their load differ by a tenth from second to second.
SLOW_FACTOR = 0.85
# In a fifth of the run it is no passing thing.
SLOW_SHARE = 0.2
# In less than ten seconds a core may just have begun to clock up.
FEWEST = 10
# The best speed is the one that a tenth of the readings reached: a single one may be wrong.
_BEST = 0.9
# Events a second, in the median second or in the worst tenth of them; none is the rule.
_EVENTS_AT = 0.9


class ThrottledRule:
    """A machine that did not keep its speed; see docs/rules/throttled.md."""

    name: ClassVar[str] = "throttled"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding where cores were slowed down for their heat or were slow for long, and one for each GPU."""
        machine = Machine(seen.profile)
        if machine.is_one:
            yield from self._cores(machine)
            for number, readings in gpus(seen.profile.gauges).items():
                yield from self._gpu(number, readings)

    def _gpu(self, number: int, readings: Mapping[str, Gauge]) -> Iterator[Finding]:
        slowed = readings.get("slowed")
        if slowed is None or slowed.count < FEWEST:
            return
        share = (slowed.count - slowed.zeros) / slowed.count
        if share >= SLOW_SHARE:
            yield Finding(
                rule=self.name,
                kind="measurement",
                severity="warning",
                path="",
                message=f"GPU {number} was slowed down for its heat or its power limit {percent(share)} of the time: "
                "cooling, a higher power limit, or less beside it",
                evidence={"slowed_share": share, "readings": slowed.count},
            )

    def _cores(self, machine: Machine) -> Iterator[Finding]:
        speed, events = machine.gauge("frequency"), machine.gauge("throttled")
        slow = None if speed is None else _slow(speed)
        often = None if events is None else events.quantile(_EVENTS_AT)
        if slow is None and not often:
            return
        evidence: dict[str, str | int | float] = {}
        said = []
        at_stake = 0.0
        if slow is not None:
            share, best, mean = slow
            at_stake = share * (1 - mean / best)
            said.append(
                f"for {percent(share)} of the time the busy cores ran at {mean:,.0f} MHz and less than"
                f" {percent(SLOW_FACTOR)} of their {best:,.0f} MHz"
            )
            evidence |= {"lost_share": at_stake, "MHz_at_best": best, "MHz_when_slow": mean}
        if often:
            said.append(f"the system slowed cores down for their heat {often:.1f} times a second")
            evidence["slow_downs_a_second"] = often
        yield Finding(
            rule=self.name,
            kind="measurement",
            severity=severity_of(at_stake) if slow is not None else "warning",
            path="",
            message=f"{', and '.join(said)}: cooling, fewer busy cores, or a fixed lower frequency",
            evidence=evidence,
        )


def _slow(speed: Gauge) -> tuple[float, float, float] | None:
    """Return the share of slow readings, the best speed and the mean of the slow ones; None where few are slow."""
    best = speed.quantile(_BEST)
    if best is None or speed.count < FEWEST:
        return None
    slow = {
        bucket: count
        for bucket, count in speed.positive.buckets.items()
        if middle_of(bucket) < SLOW_FACTOR * best
    }
    number = sum(slow.values())
    if number < SLOW_SHARE * speed.filed:
        return None
    mean = sum(middle_of(bucket) * count for bucket, count in slow.items()) / number
    return number / speed.filed, best, mean
