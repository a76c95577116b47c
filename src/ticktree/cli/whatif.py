"""`ticktree whatif`: measure in one run what a loop would gain if a section were faster.

The supervisor's part in the experiments is here: it chooses the sections while the program runs, and begins.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click

from ticktree.analysis.experiments.deadlines import predicted_misses
from ticktree.analysis.experiments.estimates import Block, Experiments, estimate, exact, plans
from ticktree.analysis.experiments.selection import Choice, NoExperimentError, choose, contended, deadline
from ticktree.cli import options
from ticktree.cli.files import deliver, format_of
from ticktree.cli.recording import RecordingOptions
from ticktree.cli.screen import complain, note, show, view_options
from ticktree.errors import TicktreeError, reason
from ticktree.outputs import ViewOptions
from ticktree.outputs.whatif import WHATIFS
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.recorder import (
    EXPERIMENTS_VARIABLE,
    LEDGER_NAME,
    MOST_BLOCKS,
    MOST_TARGETS,
    RUN_VARIABLE,
    Ledger,
)
from ticktree.run.finishing import RunDirectory
from ticktree.supervisor.periodic import PeriodicTask, PeriodicTasks
from ticktree.supervisor.program import Program
from ticktree.supervisor.supervisor import end_with_status, supervise

# A sleep waits for nothing in the run, so a section that sleeps can be made faster, too.
_INSTRUMENTS = "default,sleep"
_LOOK_EVERY_S = 0.5
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
class _Question:
    """The experiments that the user wants, as the options of `ticktree whatif` describe them."""

    sections: Sequence[str]
    speedups: Sequence[int]
    loop: str | None
    settle_ticks: int
    paced: bool
    seed: int


def _speedups(_context: click.Context, _option: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        percentages = sorted({int(word) for word in text.split(",")})
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of percentages, such as 10,25,50.") from None
    if percentages[0] < 1 or percentages[-1] > 100:
        raise click.BadParameter("speed-ups are from 1 to 100 percent.")
    return tuple(percentages)


_QUESTION = (
    click.option(
        "--section",
        "sections",
        metavar="PATH",
        multiple=True,
        help="A section by its path, or by its name if no other of the loop has it; may be given several times. By "
        "default, those with the most self time: five that the loop waits for and five that it does not.",
    ),
    click.option(
        "--speedup",
        "speedups",
        metavar="PERCENT,...",
        default="10,25,50,90",
        show_default=True,
        callback=_speedups,
        help="How much faster to make a section.",
    ),
    click.option(
        "--loop", metavar="PATH", help="The loop whose ticks are measured. By default, the main loop."
    ),
    click.option(
        "--settle",
        "settle_ticks",
        type=click.IntRange(1, 10_000),
        default=10,
        show_default=True,
        metavar="TICKS",
        help="Ticks to wait after each change: more than the longest queue holds.",
    ),
    click.option(
        "--yes",
        "paced",
        is_flag=True,
        help="Also delay loops with a target rate: no device can come to harm.",
    ),
    click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random order."),
)


@click.command(
    "whatif", short_help="Measure what a faster section would gain.", context_settings=options.PROGRAM_LAST
)
@options.program
@options.pack_options("question", _Question, _QUESTION)
@options.form(WHATIFS)
@options.output
@options.name
@options.out
def command(
    program: Program,
    question: _Question,
    format_name: str | None,
    output: Path | None,
    name: str | None,
    out: Path,
) -> None:
    """Run a program and measure what its loop would gain if a section were faster.

    In random blocks of ticks, ticktree delays all other threads and processes of the run while the section runs, which
    has the same effect as a faster section. As a check, it also delays the section itself. ticktree prints to standard
    error, or to the file that -o names.
    """
    if (count := len(question.sections)) > MOST_TARGETS:
        raise click.UsageError(f"at most {MOST_TARGETS} sections can be tried at a time, not {count}.")
    form = format_name or format_of(output, WHATIFS)
    program.check()
    # A timeline is needed to count the missed ticks of loops with a target rate.
    variables = RecordingOptions(instrument=_INSTRUMENTS, timeline=True).environment()
    run = RunDirectory.create(name or program.name, out, argv=program.argv, supervised=True)
    try:
        run.describe({"experiments": True})  # its times are useful for nothing else
        ledger = Ledger(run.memory_dir / LEDGER_NAME)
        experimenter = _Experimenter(run, question, ledger)
        environment = {**os.environ, RUN_VARIABLE: str(run.path), EXPERIMENTS_VARIABLE: "1", **variables}
        task = PeriodicTask(experimenter.look, _LOOK_EVERY_S, _LOOK_EVERY_S)
        tasks = PeriodicTasks(run, program, [task], [experimenter.stop])
        status = supervise(program.command(), environment, tasks, tasks.ended)
    except (TicktreeError, OSError) as error:
        run.finish()
        raise TicktreeError(reason(error)) from None
    # The user who ended the program with it wants to see the results.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(OSError):
            run.note_end(os.waitstatus_to_exitcode(status))
        _tell(run, experimenter, form, output)
    except Exception as error:  # not even a bug in ticktree may change how the program ends
        complain(reason(error))
    end_with_status(status)


def _tell(run: RunDirectory, experimenter: _Experimenter, form: str, output: Path | None) -> None:
    result = experimenter.result(run.finish())
    if isinstance(result, str):
        complain(f"no experiments: {result}")
        return
    if output is None:
        show(WHATIFS[form](result, view_options(sys.stderr)), sys.stderr)
    else:
        deliver(WHATIFS[form](result, ViewOptions()), output)
    note(f"Run {run.path}")


class _Experimenter:
    """Watches a run, begins the experiments once it knows what to try, and returns their results.

    The program's processes read the experiments from the ledger.
    """

    def __init__(self, run: RunDirectory, question: _Question, ledger: Ledger) -> None:
        self._run = run
        self._question = question
        self._ledger = ledger
        self._choice: Choice | None = None
        self._error: Exception | None = None
        self._block_most_ns = 0

    def look(self) -> None:
        """Begin the experiments when enough is recorded, and end them after any error."""
        if self._choice is not None:
            self._watch()
        if self._choice is not None or self._error is not None:
            return
        try:
            choice = self._choose(self._run.profile())
            if choice is not None and not choice.is_sequential:
                self._begin(choice)
        except Exception as error:
            self._ledger.stop()
            self._error = error

    def stop(self) -> None:
        """End all delays."""
        self._ledger.stop()

    def result(self, profile: Profile) -> Experiments | str:
        """Return the results of the experiments, or why there were none, given the profile of the whole run."""
        if self._error is not None and not isinstance(self._error, NoExperimentError):
            return reason(self._error)
        if self._choice is not None:
            return self._estimated(self._choice, profile)
        try:
            if self._error is not None:
                raise self._error
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
        question = self._question
        choice = choose(profile, question.sections, question.loop, question.paced)
        if choice is None or is_over:
            return choice
        stats = profile.loops[choice.loop].stats
        is_watched = stats.count >= _RUN_IN_TICKS and stats.sum_ns >= _RUN_IN_NS
        return choice if is_watched and choice.sections else None

    def _begin(self, choice: Choice) -> None:
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
        experiments = estimate(choice.loop, choice.sections, self._question.speedups, blocks, notes, doubts)
        return _without(_with_advice(experiments, blocks, self._question.speedups), unknown)

    def _counted(self, profile: Profile, reason: str) -> Experiments | str:
        """Return the ticks that a loop with a target rate would miss, which needs no experiment; else `why`."""
        question = self._question
        target = deadline(profile, question.sections, question.loop)
        timeline = self._run.timeline() if target else None
        if target is None or timeline is None:
            return reason
        view, sections = target
        if view.loop is None or view.loop.budget_ns is None:
            return reason
        warmup = 0 if timeline.overwritten else view.loop.warmup_ticks // max(1, view.threads)
        misses = predicted_misses(
            timeline, view.path, view.loop.budget_ns, sections, question.speedups, warmup
        )
        notes = [
            f"No experiment ran: {reason}",
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
        names = {name for path, _, node in profile.root.walk() for name in (path, node.name)}
        missing = [word for word in self._question.sections if word not in names]
        if missing:
            return f"no section {missing[0]} was recorded"
        return "too little was recorded to choose sections from"


def _with_advice(experiments: Experiments, blocks: Sequence[Block], speedups: Sequence[int]) -> Experiments:
    """Add a note on how long the program should run, if it ended too early for some intervals."""
    if all(prediction.low_percent is not None for prediction in experiments.predictions):
        return experiments
    note = (
        "Too few blocks for some intervals: let the program run longer, or choose fewer sections or speed-ups"
    )
    if len(blocks) > 1:
        sections = len({prediction.path for prediction in experiments.predictions})
        each_ns = (blocks[-1].ended_ns - blocks[0].ended_ns) / (len(blocks) - 1)
        needed_ns = _ROUNDS * sections * (len(speedups) + 1) * 4 / 3 * each_ns
        note += f"; all of these take about {formatting.time(needed_ns)}"
    return replace(experiments, notes=(*experiments.notes, note))


def _without(experiments: Experiments, unknown: set[str]) -> Experiments:
    return replace(
        experiments,
        predictions=[prediction for prediction in experiments.predictions if prediction.path not in unknown],
        slopes={path: slope for path, slope in experiments.slopes.items() if path not in unknown},
    )
