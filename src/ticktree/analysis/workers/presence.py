"""Presence: how long those of a role were in sections, and what of it they waited."""

from __future__ import annotations

from dataclasses import dataclass

from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.imbalance import Imbalance, imbalance
from ticktree.analysis.workers.roles import Role
from ticktree.analysis.workers.stragglers import equals, whole_lives


@dataclass(frozen=True, slots=True)
class Presence:
    """What a role did with its time.

    Attributes:
        role: whose.
        in_sections_ns: how long all of them were in any section, added up.
        waited_ns: what of it they waited.
        imbalance: how unevenly the rest is shared, in the run where it is most so; None where nothing is shared.
    """

    role: Role
    in_sections_ns: int
    waited_ns: int
    imbalance: Imbalance | None

    @property
    def waited_share(self) -> float | None:
        """What part of their time they waited."""
        return self.waited_ns / self.in_sections_ns if self.in_sections_ns > 0 else None


def presence(role: Role, seen: Survey) -> Presence:
    """Return what the processes or threads of `role` did with their time."""
    uneven = [each for crew in equals(role) if (each := imbalance(whole_lives(crew), seen)) is not None]
    return Presence(
        role=role,
        in_sections_ns=sum(map(seen.present_ns, role.units)),
        waited_ns=sum(map(seen.waited_ns, role.units)),
        imbalance=max(uneven, key=lambda each: each.share, default=None),
    )
