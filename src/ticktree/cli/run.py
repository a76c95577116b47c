"""`ticktree run`: a program under ticktree, and afterwards what was recorded of it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

from ticktree.cli.screen import complain
from ticktree.errors import TicktreeError
from ticktree.run.directory import DEFAULT_OUT, RunDirectory
from ticktree.run.folding import fold_if_many
from ticktree.run.program import Program
from ticktree.run.supervisor import end_like, supervise

_SAVE_EVERY_S = 30.0
_LOOK_EVERY_S = 2.0


@click.command(
    "run",
    short_help="Run a program under ticktree.",
    # What follows the program's name is the program's.
    context_settings={"allow_interspersed_args": False},
)
@click.option("-m", "is_module", is_flag=True, help="Run a module, like python -m.")
@click.option("--name", metavar="NAME", help="What to call the run; by default after the program.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=DEFAULT_OUT,
    show_default=True,
    help="Where runs are kept.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but what the program prints.")
@click.argument("program", metavar="SCRIPT|MODULE")
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
def command(
    is_module: bool, name: str | None, out: Path, quiet: bool, program: str, args: tuple[str, ...]
) -> None:
    """Run an unchanged Python program under ticktree and print where its time went.

    The program runs as it would without: its input, output, signals and exit status are its own. Flags of
    the interpreter go before: python -O -m ticktree run script.py. All that ticktree prints goes to
    standard error.
    """
    run_program(Program(program, is_module, args), name, out, quiet)


def run_program(program: Program, name: str | None, out: Path, quiet: bool) -> NoReturn:
    """Run a program to its end, finish and print its run, and end this process like the program.

    Raises:
        TicktreeError: The program cannot be started, or there is no place for its run.
    """
    program.check()
    run = RunDirectory.create(name or program.name, out, argv=program.argv, supervised=True)
    keeper = _Keeper(run, program)
    try:
        environment = {**os.environ, "TICKTREE_RUN": str(run.path)}
        status = supervise(program.command(), environment, keeper)
    except TicktreeError:
        run.finish()
        raise
    # Who pressed Ctrl-C to end the program may press it again while we print what he wanted to see.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _close(run, quiet)
    except Exception as error:  # Even a mistake of ours must not change how the program ends.
        complain(f"{error or type(error).__name__}; what was recorded is kept in {run.memory_dir}")
    end_like(status)


class _Keeper:
    """Keeps the run's files while the program runs.

    Its facts are written once, what was recorded every now and then; and what is left of processes that have ended
    is folded as soon as it is much.
    """

    def __init__(self, run: RunDirectory, program: Program) -> None:
        self._run = run
        self._program = program
        self._described = False
        self._save_at = time.monotonic() + _SAVE_EVERY_S

    def __call__(self) -> float:
        # Whatever goes wrong here, a mistake of ours included, the program goes on. What cannot be saved
        # now may be at the end, and if it still cannot be then, that is said.
        with suppress(Exception):
            self._keep()
        return _LOOK_EVERY_S

    def _keep(self) -> None:
        if not self._described:
            self._described = True
            self._describe()
            return
        fold_if_many(self._run)
        if time.monotonic() >= self._save_at:
            self._save_at = time.monotonic() + _SAVE_EVERY_S
            self._run.fold()

    def _describe(self) -> None:
        from ticktree.run.facts import describe_program  # slow to import, and now the program runs

        self._run.describe(describe_program(self._program.argv, self._program.folder))


def _close(run: RunDirectory, quiet: bool) -> None:
    from ticktree.cli.progress import progress
    from ticktree.run.abandoned import finish_abandoned

    with progress(f"reading {run.path.name}"):
        profile = run.finish()
    if not quiet:
        from ticktree.cli.summary import print_summary

        print_summary(profile, run.path)
    finish_abandoned()
