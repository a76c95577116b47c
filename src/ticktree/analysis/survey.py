"""Survey: what every question about a run's threads begins with, each part of it looked up once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ticktree.analysis.bottlenecks.bottleneck import Bottleneck, bottlenecks
from ticktree.analysis.bottlenecks.steps import Frame, Step, chief_frames, frames
from ticktree.analysis.categories import Categories
from ticktree.analysis.crews.roles import Role, Unit, amount, roles, run_ns, unit_of
from ticktree.analysis.crews.stragglers import Straggler, stragglers
from ticktree.analysis.cycles.cycle import Cycle, cycles
from ticktree.analysis.places import Place, in_sections_ns, places
from ticktree.analysis.settings import Settings
from ticktree.profile import Profile
from ticktree.profile.short_names import ShortNames


class Survey:
    """A profile, and what is known of it as soon as somebody asks: who there was, where, and for how long.

    Args:
        profile: what is judged.
        settings: how; None for the defaults.
    """

    def __init__(self, profile: Profile, settings: Settings | None = None) -> None:
        self.profile = profile
        self.settings = settings or Settings()
        self._categories = Categories(self.settings.categories)

    def category(self, name: str) -> str | None:
        """Return the category of a node called `name`, told from its name alone; None where that tells nothing."""
        return self._categories.of(name)

    @cached_property
    def short_names(self) -> ShortNames:
        """What nodes are called for short."""
        return ShortNames(self.profile.root)

    @cached_property
    def frames(self) -> Sequence[Frame]:
        """Every loop that has steady ticks, the one that went on longest first; the run where none has."""
        return frames(self.profile, self.category, self.short_names)

    @cached_property
    def chief_frames(self) -> Sequence[Frame]:
        """Those that matter; see `chief_frames`."""
        return chief_frames(self.frames)

    @cached_property
    def steps(self) -> Sequence[Step]:
        """What their ticks consist of, loop by loop."""
        return [step for frame in self.frames for step in frame.steps]

    @cached_property
    def slack(self) -> frozenset[str]:
        """Paths of the sleeps that hold a loop's rate: time to spare."""
        return frozenset(step.path for step in self.steps if step.is_slack)

    @cached_property
    def bottlenecks(self) -> Sequence[Bottleneck]:
        """The same with what each costs its loop, loop by loop, the dearest first."""
        return [one for frame in self.frames for one in bottlenecks(frame, self.settings.weights)]

    @cached_property
    def found(self) -> Sequence[Place]:
        """The places of the whole tree, parents before their children."""
        return places(self.profile.root)

    @cached_property
    def cycles(self) -> Sequence[Cycle]:
        """What the program does again and again, outer cycles first."""
        return cycles(self.profile, self.found)

    @cached_property
    def threads(self) -> Sequence[Role]:
        """The threads by role."""
        return roles(self.profile, "thread")

    @cached_property
    def names(self) -> Mapping[str, Unit]:
        """Whose each writer is, by its id."""
        return unit_of(self.threads)

    @cached_property
    def run_ns(self) -> int:
        """How long the run took."""
        return run_ns(self.profile)

    @cached_property
    def stragglers(self) -> Mapping[str, Sequence[Straggler]]:
        """The stragglers of each role, by its name."""
        return {role.name: stragglers(role, self.found) for role in self.threads}

    @cached_property
    def _in_sections_ns(self) -> Mapping[str, int]:
        return in_sections_ns(self.found)

    def present_ns(self, unit: Unit) -> int:
        """How long `unit` was in any section."""
        return amount(self._in_sections_ns, unit)

    def waited_ns(self, unit: Unit) -> int:
        """How long `unit` waited."""
        return amount(self.found[0].waited_ns, unit)

    def worked_ns(self, unit: Unit) -> int:
        """How long `unit` was in sections that do not wait; 0 where its tasks waited at once for longer."""
        return max(0, self.present_ns(unit) - self.waited_ns(unit))
