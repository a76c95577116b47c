"""Survey: what every question about a run's threads begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticktree.analysis.places import Place, in_sections_ns, places
from ticktree.analysis.roles import Role, Unit, amount, roles, run_ns, unit_of
from ticktree.profile import Profile


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Who there was, where, and for how long.

    Attributes:
        found: the places of the whole tree, parents before their children.
        threads: the threads by role.
        names: whose each writer is, by its id.
        in_sections_ns: how long each writer was in any section, by its id.
        run_ns: how long the run took.
    """

    found: Sequence[Place]
    threads: Sequence[Role]
    names: Mapping[str, Unit]
    in_sections_ns: Mapping[str, int]
    run_ns: int

    def present_ns(self, unit: Unit) -> int:
        """How long `unit` was in any section."""
        return amount(self.in_sections_ns, unit)

    def waited_ns(self, unit: Unit) -> int:
        """How long `unit` waited."""
        return amount(self.found[0].waited_ns, unit)

    def worked_ns(self, unit: Unit) -> int:
        """How long `unit` was in sections that do not wait; 0 where its tasks waited at once for longer."""
        return max(0, self.present_ns(unit) - self.waited_ns(unit))


def survey(profile: Profile) -> Survey:
    """Look at all of `profile` once."""
    found, threads = places(profile.root), roles(profile, "thread")
    return Survey(found, threads, unit_of(threads), in_sections_ns(found), run_ns(profile))
