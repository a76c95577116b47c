"""The supervisor's part in experiments: it chooses the sections to try while the program runs, and begins."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ticktree.errors import reason
from ticktree.recorder import MOST_BLOCKS, Ledger
from ticktree.run.finishing import RunDirectory

if TYPE_CHECKING:
    from ticktree.analysis.experiments.choosing import Choice
    from ticktree.analysis.experiments.estimates import Block, Experiments
    from ticktree.profile import Profile

LOOK_EVERY_S = 0.5
# A block is long enough that neither its edges nor one outlier matter.
_BLOCK_NS = 250_000_000
_BLOCK_TICKS = 10
# A block that takes longer than this, and this many times its expected time, was left by its loop.
_MOST_NS = 30_000_000_000
_MOST_TIMES = 20
# How much longer than a block blocks continue without a sign of the supervisor, which may have been stopped.
_UNWATCHED_NS = 10_000_000_000
# The program runs for at least this long before the first block.
_RUN_IN_NS = 1_000_000_000
_RUN_IN_TICKS = 10
# If more of the calls may sleep, as a coroutine's do, other tasks run meanwhile, and the section's time is unknown.
_ASLEEP_SHARE = 0.05
# Below this share, the section waits for something unknown in the rest of its time.
_WORK_SHARE = 0.8
# How many times each section and speed-up must be tried for a useful interval.
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Question:
    """The experiments that the user wants.

    Attributes:
        sections: by path or name; empty for those that are worth trying.
        speedups: by how many percent each is made faster.
        loop: by path or name; None for the main loop.
        settle_ticks: ticks at the beginning of a block that are not measured.
        paced: whether loops with a target rate may be delayed.
        seed: of the order of the blocks.
    """

    sections: Sequence[str]
    speedups: Sequence[int]
    loop: str | None
    settle_ticks: int
    paced: bool
    seed: int


class Experimenter:
    """Watches a run, begins the experiments once it knows what to try, and returns their results.

    Args:
        run: the run.
        question: the experiments.
        ledger: the memory from which the program's processes read the experiments.
    """

    def __init__(self, run: RunDirectory, question: Question, ledger: Ledger) -> None:
        self._run = run
        self._question = question
        self._ledger = ledger
        self._choice: Choice | None = None
        self._refusal = ""
        self._is_broken = False
        self._block_most_ns = 0

    def look(self) -> None:
        """Begin the experiments when enough is recorded, and end them after any error."""
        if self._choice is not None:
            self._watch()
        if self._choice is not None or self._refusal:
            return
        from ticktree.analysis.experiments.choosing import NoExperimentError

        try:
            choice = self._choose(self._run.profile())
            if choice is not None and not choice.is_sequential:
                self._begin(choice)
        except NoExperimentError as error:
            self._refusal = str(error)
        except Exception as error:
            self._ledger.stop()
            self._refusal, self._is_broken = reason(error), True

    def stop(self) -> None:
        """End all delays."""
        self._ledger.stop()

    def result(self, profile: Profile) -> Experiments | str:
        """Return the results of the experiments, or why there were none.

        Args:
            profile: of the whole run.
        """
        from ticktree.analysis.experiments.choosing import NoExperimentError
        from ticktree.analysis.experiments.estimates import exact

        if self._refusal:
            return self._refusal if self._is_broken else self._counted(profile, self._refusal)
        if self._choice is not None:
            return self._estimated(self._choice, profile)
        try:
            choice = self._choose(profile, is_over=True)
        except NoExperimentError as error:
            return self._counted(profile, str(error))
        if choice is None:
            return self._nothing_found(profile)
        if not choice.is_sequential:
            return "the program ended before the experiments began: let it run longer"
        note = (
            f"ticktree recorded nothing that runs concurrently with {choice.loop}: Amdahl's law is exact, and no "
            "experiment ran"
        )
        shares = {path: choice.shares[path] for path in choice.sections if path in choice.shares}
        return exact(choice.loop, choice.tick_ns, shares, self._question.speedups, [note])

    def _choose(self, profile: Profile, is_over: bool = False) -> Choice | None:
        from ticktree.analysis.experiments.choosing import choose

        question = self._question
        choice = choose(profile, question.sections, question.loop, question.paced)
        if choice is None or is_over:
            return choice
        stats = profile.loops[choice.loop].stats
        is_watched = stats.count >= _RUN_IN_TICKS and stats.sum_ns >= _RUN_IN_NS
        return choice if is_watched and choice.sections else None

    def _begin(self, choice: Choice) -> None:
        from ticktree.analysis.experiments.estimates import plans
        from ticktree.profile import path as paths

        question = self._question
        ticks = max(_BLOCK_TICKS, math.ceil(_BLOCK_NS / choice.tick_ns))
        expected_ns = choice.tick_ns * (2 * ticks + question.settle_ticks)
        targets = [paths.split(path) for path in choice.sections]
        self._block_most_ns = int(max(_MOST_NS, _MOST_TIMES * expected_ns))
        self._watch()
        self._ledger.begin(
            paths.split(choice.loop),
            targets,
            plans(len(targets), question.speedups, MOST_BLOCKS, question.seed),
            rest_ticks=ticks,
            settle_ticks=question.settle_ticks,
            block_ticks=ticks,
            block_most_ns=self._block_most_ns,
        )
        self._choice = choice

    def _watch(self) -> None:
        """Allow further blocks. Without this sign, as after a kill of the supervisor, blocks and delays end."""
        self._ledger.watch(time.monotonic_ns() + self._block_most_ns + _UNWATCHED_NS)

    def _estimated(self, choice: Choice, profile: Profile) -> Experiments:
        from ticktree.analysis.experiments.choosing import contended
        from ticktree.analysis.experiments.estimates import Block, estimate

        blocks = [Block(*numbers) for numbers in self._ledger.blocks()]
        notes, unknown = [], set()
        for path, (calls, sleeping, spent_ns, lasted_ns) in zip(
            choice.sections, self._ledger.calls(), strict=False
        ):
            if sleeping > _ASLEEP_SHARE * (calls + sleeping):
                unknown.add(path)
                notes.append(
                    f"{path} is left out: it is the section of a coroutine or generator, which may sleep"
                )
            elif spent_ns < _WORK_SHARE * lasted_ns:
                notes.append(
                    f"{path} works or sleeps for {100 * spent_ns / lasted_ns:.0f}% of its time; in the rest it "
                    "waits for the GIL, a core, a lock, I/O or a device, which the prediction leaves out"
                )
        doubts = [doubt for doubt in [contended(profile, choice.loop)] if doubt]
        found = estimate(choice.loop, choice.sections, self._question.speedups, blocks, notes, doubts)
        return _without(_with_advice(found, blocks, self._question.speedups), unknown)

    def _counted(self, profile: Profile, why: str) -> Experiments | str:
        """Return the ticks that a loop with a target rate would miss, which needs no experiment; else `why`."""
        from ticktree.analysis.experiments.choosing import deadline
        from ticktree.analysis.experiments.deadlines import predicted_misses
        from ticktree.analysis.experiments.estimates import Experiments

        question = self._question
        found = deadline(profile, question.sections, question.loop)
        timeline = self._run.timeline() if found else None
        if found is None or timeline is None:
            return why
        view, sections = found
        if view.loop is None or view.loop.budget_ns is None:
            return why
        warmup = 0 if timeline.overwritten else view.loop.warmup_ticks // max(1, view.threads)
        misses = predicted_misses(
            timeline, view.path, view.loop.budget_ns, sections, question.speedups, warmup
        )
        notes = [
            f"No experiment ran: {why}",
            "Missed ticks are counted: those whose busy time exceeds the budget, with the section shortened in each",
        ]
        return Experiments(
            loop=view.path,
            tick_ns=view.tick_ns,
            blocks=0,
            predictions=[],
            slopes={},
            notes=notes,
            misses=misses,
        )

    def _nothing_found(self, profile: Profile) -> str:
        if not profile.loops:
            return "the program has no loop to measure: mark one with ticktree.loop(name)"
        if self._question.loop is not None and self._question.loop not in profile.loops:
            return (
                f"no loop {self._question.loop} was recorded; there are: {', '.join(sorted(profile.loops))}"
            )
        known = {name for path, _, node in profile.root.walk() for name in (path, node.name)}
        missing = [word for word in self._question.sections if word not in known]
        return (
            f"no section {missing[0]} was recorded"
            if missing
            else "too little was recorded to choose sections from"
        )


def _with_advice(found: Experiments, blocks: Sequence[Block], speedups: Sequence[int]) -> Experiments:
    """Add a note on how long the program should run, if it ended too early for some intervals."""
    from dataclasses import replace

    from ticktree.outputs.writing import formatting

    if all(each.low_percent is not None for each in found.predictions):
        return found
    note = (
        "Too few blocks for some intervals: let the program run longer, or choose fewer sections or speed-ups"
    )
    if len(blocks) > 1:
        sections = len({each.path for each in found.predictions})
        each_ns = (blocks[-1].ended_ns - blocks[0].ended_ns) / (len(blocks) - 1)
        needed_ns = _ROUNDS * sections * (len(speedups) + 1) * 4 / 3 * each_ns
        note += f"; all of these take about {formatting.time(needed_ns)}"
    return replace(found, notes=(*found.notes, note))


def _without(found: Experiments, unknown: set[str]) -> Experiments:
    from dataclasses import replace

    return replace(
        found,
        predictions=[each for each in found.predictions if each.path not in unknown],
        slopes={path: slope for path, slope in found.slopes.items() if path not in unknown},
    )
