"""`ticktree run`: run a program under ticktree, and print what was recorded."""

from __future__ import annotations

import math
import os
import shlex
import signal
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from ticktree.cli import options, publishing, recording
from ticktree.cli.focus import complain_of_focus, note_focus
from ticktree.cli.publishing import Publishing
from ticktree.cli.recording import RecordingOptions
from ticktree.cli.sampling import RunSampler
from ticktree.cli.screen import complain, progress
from ticktree.errors import TicktreeError, reason
from ticktree.files.trust import NotOwnError
from ticktree.fleet.gatherer_process import GathererProcess
from ticktree.instruments.remedies import REMEDIES_VARIABLE
from ticktree.recorder import RUN_VARIABLE, gil
from ticktree.run.finishing import RunDirectory
from ticktree.run.job import describe_progress
from ticktree.run.losses import describe_missing_files, summarize_instrument_losses
from ticktree.run.memory import explain_other_root
from ticktree.supervisor.periodic import PeriodicTask, PeriodicTasks
from ticktree.supervisor.program import Program
from ticktree.supervisor.supervisor import end_with_status, supervise

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.publishing.publisher import Publisher


@click.command(
    "run",
    cls=recording.CommandThatRecords,
    short_help="Run a program under ticktree.",
    context_settings=options.PROGRAM_LAST,
)
@options.program
@options.name
@options.out
@recording.options
@click.option(
    "--summary-every",
    type=float,
    metavar="SECONDS",
    callback=options.checked(
        lambda seconds: 0 < seconds < math.inf, "{:g} is not a number of seconds greater than 0."
    ),
    help="Print the tree to standard error every SECONDS while the program runs.",
)
@publishing.options
@click.option(
    "--history/--no-history",
    "is_remembered",
    default=True,
    help="Add the run to `ticktree history`; on by default.",
)
@click.option("--quiet", is_flag=True, help="Print only what the program prints.")
def command(
    program: Program,
    name: str | None,
    out: Path,
    recorded: RecordingOptions,
    summary_every: float | None,
    published: Publishing,
    is_remembered: bool,
    quiet: bool,
) -> None:
    """Run an unchanged Python program under ticktree and print where its time went.

    ticktree does not change the program's input, output, signals or exit status, and prints only to standard error.
    Flags of the interpreter go before `-m`: python -O -m ticktree run script.py.
    """
    if quiet and summary_every is not None:
        raise click.UsageError("--quiet and --summary-every exclude each other: give one of them.")
    published.check(quiet)
    run_program(program, name, out, quiet, summary_every, recorded, published, is_remembered)


def run_program(
    program: Program,
    name: str | None,
    out: Path,
    quiet: bool,
    summary_every_s: float | None = None,
    recording_options: RecordingOptions = RecordingOptions(),  # noqa: B008 - immutable
    published: Publishing = Publishing(),  # noqa: B008 - likewise
    is_remembered: bool = True,
) -> NoReturn:
    """Run a program to its end, finish and print its run, and end this process like the program."""
    program.check()
    variables = recording_options.environment()
    publisher = published.publisher()
    try:
        run = RunDirectory.create(name or program.name, out, argv=program.argv, supervised=True)
    # Caused by another user or by the clock: the program must start nevertheless.
    except (NotOwnError, OverflowError) as error:
        complain(f"{error}; the program runs without being recorded")
        _run_alone(program)
    if elsewhere := explain_other_root(run.memory_dir):
        complain(elsewhere)
    try:
        if remedies := os.environ.get(REMEDIES_VARIABLE):  # so it is not a run of the unchanged program
            run.describe({"remedies": remedies})
        environment = {**os.environ, RUN_VARIABLE: str(run.path), **variables}
        note_focus(run, recording_options.focus)
        if not quiet and (remark := gil.free_threading_note()) is not None:
            complain(remark)
        if publisher is not None and publisher.url and not quiet:
            complain(f"metrics are at {publisher.url}")
        sampler = RunSampler(run, recording_options)
        tasks = _tasks(run, program, recording_options.gather_every, publisher, summary_every_s, sampler)
        status = supervise(program.command(), environment, tasks, tasks.ended, sampler.begin)
    except TicktreeError:
        run.finish()
        raise
    # The user who ended the program with Ctrl-C may press it again while ticktree prints.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(OSError):  # a full disk: the exit status is a detail
            if run.put_back():
                complain(f"{run.path} was deleted while the program ran; ticktree has recreated it")
            run.note_end(os.waitstatus_to_exitcode(status))
        with closing(publisher) if publisher is not None else nullcontext():
            _close(run, program, quiet, recording_options.focus, publisher, is_remembered, sampler)
    except Exception as error:  # Not even a bug in ticktree may change how the program ends.
        hint = "" if run.is_finished() else f"; what was recorded is kept in {run.memory_dir}"
        complain(f"{reason(error)}{hint}")
    end_with_status(status)


def _tasks(
    run: RunDirectory,
    program: Program,
    gather_every: int,
    publisher: Publisher | None,
    summary_every_s: float | None,
    sampler: RunSampler,
) -> PeriodicTasks:
    tasks: list[PeriodicTask] = sampler.tasks()
    at_end: list[Callable[[], None]] = [sampler.end]
    if gather_every:
        gatherer = GathererProcess(gather_every)
        tasks.append(PeriodicTask(partial(gatherer.begin, run)))
        at_end.append(gatherer.end)
    if publisher is not None:
        tasks.append(PeriodicTask(partial(publisher.begin, run)))
    if summary_every_s is not None:
        from ticktree.cli.summary import LiveSummary

        tasks.append(PeriodicTask(LiveSummary(run).print, summary_every_s, summary_every_s))
    return PeriodicTasks(run, program, tasks, at_end)


def _run_alone(program: Program) -> NoReturn:
    """Become the program."""
    command = program.command()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise TicktreeError(f"cannot start {command[0]}: {error.strerror}") from None


def _close(
    run: RunDirectory,
    program: Program,
    quiet: bool,
    focus: Sequence[str],
    publisher: Publisher | None,
    is_remembered: bool,
    sampler: RunSampler,
) -> None:
    # The program has ended, so nothing inherits it. The BLAS that numpy loads would start threads that spin for 50 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ticktree.profile.machine import is_empty
    from ticktree.run.sweep import finish_abandoned

    far = "; ".join(describe_progress(run.path))
    if far:
        with suppress(OSError):
            run.describe({"gathered": far})
    with progress(f"reading {run.path.name}"):
        profile = run.finish()
    lost = describe_missing_files(run, profile)
    for line in filter(None, (lost or sampler.failure(), *summarize_instrument_losses(profile))):
        complain(line)
    if publisher is not None:
        publisher.over(profile)
    if not quiet:
        sampler.say(is_empty=is_empty(profile))
        from ticktree.cli.summary import print_summary

        print_summary(profile, run.path)
        _hint(program, profile)
        if far:
            complain(f"gathered: {far}; `ticktree merge {run.path}` makes one profile of it")
        complain_of_focus(profile, focus, run.manifest.argv)
    if is_remembered:
        _remember(run, profile)
    finish_abandoned()


def _hint(program: Program, profile: Profile) -> None:
    """Print a hint if an option of ticktree went to the program, which seems not to know it.

    Programs may have options of the same name, so a hint on every one would usually be wrong. It is given where the
    program refused its arguments (status 2, as of argparse and click), and where nothing was recorded: the option may
    have been meant to change that.
    """
    from ticktree.profile.machine import is_empty

    if not (is_empty(profile) or 2 in profile.metadata.get("exit_status", ())):
        return
    options_by_word = {
        word: option for option in command.params for word in option.opts if word.startswith("--")
    }
    words = list(program.arguments)
    for at, word in enumerate(words):
        option = options_by_word.get(word.partition("=")[0])
        if option is not None:
            takes = 1 if "=" in word or getattr(option, "is_flag", False) else 2
            moved, rest = words[at : at + takes], words[:at] + words[at + takes :]
            right = shlex.join(["ticktree", "run", *moved, *program.argv[: -len(words)], *rest])
            complain(f"{word} after {program.target} went to the program; to give it to ticktree: {right}")
            return


def _remember(run: RunDirectory, profile: Profile) -> None:
    from ticktree.history import StoreError, store_run

    try:
        store_run(run, profile)
    except StoreError as error:
        complain(f"the run is not in the history yet: {error}; `ticktree history` will try again")
