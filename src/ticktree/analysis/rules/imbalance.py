"""Work is unevenly shared among those that do the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import times, who
from ticktree.analysis.workers.imbalance import Imbalance, imbalance
from ticktree.analysis.workers.roles import Role
from ticktree.analysis.workers.stragglers import crews, whole_lives

# Nothing is shared out perfectly, and the busiest of many is a little busier by chance alone. At a fifth, one
# worker in five does nothing that counts.
UNEVEN_SHARE = 0.2


class ImbalanceRule:
    """Each role whose work is unevenly shared, not just by one straggler; see docs/rules/imbalance.md."""

    name: ClassVar[str] = "imbalance"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each role, in each run, whose busiest thread has far more to do than the mean."""
        for role in seen.threads:
            slow = {one.unit for one in seen.stragglers[role.name]}
            for crew in crews(role):
                uneven = imbalance([unit for unit in whole_lives(crew) if unit not in slow], seen)
                if uneven is not None and _matters(uneven, seen.run_ns):
                    yield self._finding(role, uneven, seen.run_ns)

    def _finding(self, role: Role, uneven: Imbalance, run_ns: int) -> Finding:
        return Finding(
            rule=self.name,
            claim=Claim(uneven.lost_ns / run_ns),
            path="",
            message=(
                f"{who(role.name, uneven.units)}: {uneven.busiest.name} has "
                f"{times(uneven.busiest_ns / uneven.mean_ns)} as much to do as they have on average"
            ),
            evidence={
                "busiest": uneven.busiest.name,
                "by_the_busiest_ns": uneven.busiest_ns,
                "on_average_ns": uneven.mean_ns,
                "imbalance_share": uneven.share,
            },
        )


def _matters(uneven: Imbalance, run_ns: int) -> bool:
    return uneven.share > UNEVEN_SHARE and uneven.lost_ns > LEAST_SHARE * run_ns > 0
