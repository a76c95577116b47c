"""`ticktree whatif`: measure in one run what a loop would gain if a section were faster."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import click

from ticktree.cli import options
from ticktree.cli.experimenting import LOOK_EVERY_S, Experimenter, Question
from ticktree.cli.files import deliver, format_of
from ticktree.cli.recording import RecordingOptions
from ticktree.cli.screen import complain, note, show, view_options
from ticktree.errors import TicktreeError, reason
from ticktree.outputs import ViewOptions
from ticktree.outputs.whatif import WHATIFS
from ticktree.recorder import EXPERIMENTS_VARIABLE, LEDGER_NAME, MOST_TARGETS, RUN_VARIABLE, Ledger
from ticktree.run.finishing import RunDirectory
from ticktree.supervisor.periodic import PeriodicTask, PeriodicTasks
from ticktree.supervisor.program import Program
from ticktree.supervisor.supervisor import end_like, supervise

# A sleep waits for nothing in the run, so a section that sleeps can be made faster, too.
_INSTRUMENTS = "default,sleep"


def _speedups(_context: click.Context, _option: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        found = sorted({int(word) for word in text.split(",")})
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of percentages, such as 10,25,50.") from None
    if found[0] < 1 or found[-1] > 100:
        raise click.BadParameter("speed-ups are from 1 to 100 percent.")
    return tuple(found)


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
@options.packed("question", Question, _QUESTION)
@options.form(WHATIFS)
@options.output
@options.name
@options.out
def command(
    program: Program,
    question: Question,
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
    wanted = RecordingOptions(instrument=_INSTRUMENTS, timeline=True).environment()
    run = RunDirectory.create(name or program.name, out, argv=program.argv, supervised=True)
    try:
        run.describe({"experiments": True})  # its times are useful for nothing else
        ledger = Ledger(run.memory_dir / LEDGER_NAME)
        experimenter = Experimenter(run, question, ledger)
        environment = {**os.environ, RUN_VARIABLE: str(run.path), EXPERIMENTS_VARIABLE: "1", **wanted}
        task = PeriodicTask(experimenter.look, LOOK_EVERY_S, LOOK_EVERY_S)
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
    end_like(status)


def _tell(run: RunDirectory, experimenter: Experimenter, form: str, output: Path | None) -> None:
    found = experimenter.result(run.finish())
    if isinstance(found, str):
        complain(f"no experiments: {found}")
        return
    if output is None:
        show(WHATIFS[form](found, view_options(sys.stderr)), sys.stderr)
    else:
        deliver(WHATIFS[form](found, ViewOptions()), output)
    note(f"Run {run.path}")
