"""Context: a profile with the results that rules and outputs derive from it; each is computed once, on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ticktree.analysis.bottlenecks import Bottleneck, bottlenecks
from ticktree.analysis.categories import Categories
from ticktree.analysis.finding import Claim, Settings
from ticktree.analysis.loop_views import loop_views, repeated_sections, run_view
from ticktree.analysis.loops import LoopView, Saving, main_loops
from ticktree.analysis.machine import gpu_used_during
from ticktree.analysis.sampled import LineTime, line_times
from ticktree.analysis.workers.roles import Role, Worker, amount, roles, run_ns, worker_by_thread
from ticktree.analysis.workers.stragglers import Straggler, role_in_step, stragglers
from ticktree.profile import Loop, Profile
from ticktree.profile.short_names import ShortNames
from ticktree.profile.table import sums_of


class Context:
    """A profile with its loops, workers and savings; without settings, rules have their default thresholds."""

    def __init__(self, profile: Profile, settings: Settings | None = None) -> None:
        self.profile = profile
        self.settings = settings or Settings()
        self._categories = Categories(self.settings.categories)

    def category(self, name: str) -> str | None:
        """Return the category of a node called `name`, from its name alone; None if no pattern matches."""
        return self._categories.of(name)

    @cached_property
    def short_names(self) -> ShortNames:
        """The nodes' short names."""
        return ShortNames(self.profile.root)

    @cached_property
    def run(self) -> LoopView:
        """The whole run as one tick, with every node of the tree."""
        return run_view(self.profile, self.category, self.short_names)

    @cached_property
    def loops(self) -> Sequence[LoopView]:
        """The loops in the order in which all outputs show them; the run if no loop has steady ticks."""
        views = loop_views(self.profile, self.category, self.short_names)
        return views or ([self.run] if self.profile.root.total_ns > 0 else [])

    @cached_property
    def repeated(self) -> Sequence[LoopView]:
        """The loops, and the sections that are called repeatedly outside all loops."""
        sections = repeated_sections(self.run, self.profile, self.category)
        return [*(view for view in self.loops if not view.is_run), *sections]

    @cached_property
    def main_loops(self) -> Sequence[LoopView]:
        """The loops that a report leads with."""
        return main_loops(self.loops)

    @property
    def first_loop(self) -> LoopView | None:
        """The first main loop; None if the run has no loops."""
        return next((view for view in self.main_loops if view.loop is not None), None)

    @cached_property
    def line_times(self) -> Sequence[LineTime]:
        """The times of the main loops' sections at noted lines."""
        return list(line_times(self.profile, self.main_loops))

    @cached_property
    def startup_ns(self) -> int | None:
        """The time from the start of the program to the first tick of its first main loop; None if it is unknown."""
        starts = [value for value in self.profile.metadata.get("started_ns", ()) if isinstance(value, int)]
        loop = self.first_loop.loop if self.first_loop is not None else None
        if len(starts) != 1 or loop is None or loop.first_ticks is None:
            return None
        startup_ns = loop.first_ticks.started_wall_ns - starts[0]
        return startup_ns if startup_ns > 0 else None

    @cached_property
    def all_loops(self) -> Sequence[Loop]:
        """All loops in the same order; those without steady ticks last, by path."""
        shown = [view.loop for view in self.loops if view.loop is not None]
        return [*shown, *(loop for _, loop in sorted(self.profile.loops.items()) if loop not in shown)]

    def view_of(self, path: str) -> LoopView | None:
        """Return the loop at `path`, or the run for ""; None if there is no loop with steady ticks."""
        return next((view for view in self.loops if view.path == path), None)

    def loop_of(self, claim: Claim | None) -> LoopView | None:
        """Return the loop that a claim is about; None if there is no such loop with steady ticks."""
        return self.view_of(claim.path) if claim is not None and claim.path else None

    def saving(self, claim: Claim) -> Saving:
        """Return the saving of a claim's loop; for a claim without a loop, the saving of the run."""
        view = self.loop_of(claim)
        if view is not None:
            used = None if claim.spares_gpu else self.gpu_used(view)
            return view.saving(min(claim.share, 1 - (used or 0.0)) * view.tick_ns)
        node = self.profile.root.find(claim.path) if claim.path else None
        total_ns = self.run_ns if node is None else node.steady.sum_ns
        removed_ns = min(max(0.0, claim.share * total_ns), float(self.run_ns))
        return Saving(self.run_ns, self.run_ns, removed_ns)

    def gpu_used(self, view: LoopView) -> float | None:
        """Return the share of a loop's time in which the busiest GPU was in use; None if unknown."""
        return gpu_used_during(self.profile, view.sections[0].node.windows) if view.loop is not None else None

    def weighed_share(self, claim: Claim, saving: Saving) -> float:
        """Return the saved share of a main loop's tick, or else of the run.

        A main loop counts without the set-up and shut-down of its run: their share depends on the run's length.
        """
        view = self.loop_of(claim)
        if view is None or view in self.main_loops or self.run_ns <= 0:
            return saving.share
        return min(saving.share, saving.ns * view.ticks / view.threads / self.run_ns)

    @cached_property
    def slack(self) -> frozenset[str]:
        """The paths of the sleeps that hold a loop's rate: time to spare."""
        return frozenset(section.path for view in self.loops for section in view.sections if section.is_slack)

    @cached_property
    def bottlenecks(self) -> Sequence[Bottleneck]:
        """The sections of all loops with their costs, loop by loop, the largest first."""
        return [bottleneck for view in self.loops for bottleneck in bottlenecks(view, self.settings.weights)]

    @cached_property
    def threads(self) -> Sequence[Role]:
        """The threads by role."""
        return roles(self.profile, "thread")

    @cached_property
    def names(self) -> Mapping[str, Worker]:
        """The worker of each thread, by the thread's id."""
        return worker_by_thread(self.threads)

    @cached_property
    def run_ns(self) -> int:
        """How long the run took."""
        return run_ns(self.profile)

    @cached_property
    def stragglers(self) -> Mapping[str, Sequence[Straggler]]:
        """The stragglers of each role, by its name."""
        return {role.name: stragglers(role, self.run.sections) for role in self.comparable}

    @cached_property
    def comparable(self) -> Sequence[Role]:
        """The threads by role, and the processes that wait in step as a further role."""
        role = role_in_step(self.threads, self.run.sections)
        return self.threads if role is None else [*self.threads, role]

    @cached_property
    def _in_sections_ns(self) -> Mapping[str, int]:
        # The time of concurrent tasks counts once per task: it is not a part of the elapsed time.
        return sums_of(
            {thread: share.self_ns for thread, share in section.node.by_thread.items()}
            for section in self.run.sections[1:]
            if not section.is_remote
        )

    def present_ns(self, worker: Worker) -> int:
        """How long `worker` was in any section."""
        return amount(self._in_sections_ns, worker)

    def waited_ns(self, worker: Worker) -> int:
        """How long `worker` waited."""
        return amount(self.run.sections[0].waited_ns, worker)

    def worked_ns(self, worker: Worker) -> int:
        """How long `worker` was in sections that do not wait; 0 if its tasks' concurrent waits sum to more."""
        return max(0, self.present_ns(worker) - self.waited_ns(worker))

    def life_ns(self, worker: Worker) -> int:
        """How long `worker` lived: at least as long as it was in sections."""
        return max(self.present_ns(worker), worker.span_ns or 0)

    def is_instrumented(self, worker: Worker) -> bool:
        """Whether `worker` was in any section that does not wait: of other workers, only the waits are known."""
        return self.worked_ns(worker) > 0
