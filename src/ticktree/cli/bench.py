"""`ticktree bench`: run two programs in turn until the verdict on every loop is certain."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

import click

from ticktree.analysis.comparison.compare import Comparison, compare
from ticktree.analysis.comparison.differences import differences
from ticktree.analysis.comparison.power import looks
from ticktree.cli import comparing, options
from ticktree.cli.screen import note, progress, show, view_options
from ticktree.errors import TicktreeError
from ticktree.files.trust import open_own_directory
from ticktree.outputs.comparison import COMPARISONS
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.naming import create_unique_directory
from ticktree.supervisor.program import Program

_LOG = "output.txt"


@click.command("bench", short_help="Run two programs in turn and compare them.")
@click.argument("command_a", metavar="CMD_A")
@click.argument("command_b", metavar="CMD_B")
@click.option(
    "--pairs", type=click.IntRange(min=2), default=10, show_default=True, help="Pairs of runs, at most."
)
@click.option("--all-pairs", is_flag=True, help="Run all pairs, even after the verdict is certain.")
@comparing.threshold
@options.out
@comparing.form
@comparing.everything
def command(
    command_a: str,
    command_b: str,
    pairs: int,
    all_pairs: bool,
    threshold: float,
    out: Path,
    format_name: str | None,
    everything: bool,
) -> None:
    """Run A and B in turn under ticktree, pair by pair, and say whether B is faster than A.

    A CMD is one word, in quotes: a script with its arguments, or -m and a module, as after `ticktree run`: 'train.py
    --buffer ring'. The order within a pair alternates, so that a machine that warms up favours neither. Warm-up is
    left out. It stops early when the verdict on every loop is certain; that verdict is wrong in at most 5% of trials.
    """
    words = [_words(command_a), _words(command_b)]
    for command_words in words:
        _program(command_words).check()
    folder = make_folder(out, "bench")
    plan = looks(pairs)
    sides: tuple[list[Profile], list[Profile]] = ([], [])
    compared: Comparison | None = None
    for number, side in in_turn(pairs):
        with progress(f"pair {number + 1} of {pairs}: {'AB'[side]}"):
            sides[side].append(run_program(words[side], folder / "ab"[side]))
        complete = min(map(len, sides))
        if len(sides[0]) != len(sides[1]) or complete not in plan:
            continue
        compared = compare(*sides, threshold=threshold / 100, paired=True, confidence=plan[complete])
        if not all_pairs and _is_certain(compared):
            break
    if compared is None:
        raise TicktreeError("no pair was completed")
    view = replace(view_options(sys.stdout), all=everything)
    show(COMPARISONS[format_name or "terminal"](compared, differences(*sides), view), sys.stdout)
    if len(sides[0]) < pairs and _is_certain(compared):
        note(f"stopped before {pairs} pairs: the verdict on every loop is certain")
    note(f"{len(sides[0])} pairs kept in {folder}")


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TicktreeError(f"{text!r} is not a command: {error}") from None
    if not words:
        raise TicktreeError("a command is empty")
    return words


def _program(words: Sequence[str]) -> Program:
    is_module = words[0] == "-m" and len(words) > 1
    target, *arguments = words[1:] if is_module else words
    return Program.named(target, is_module, tuple(arguments))


def make_folder(out: Path, command_name: str) -> Path:
    """Make a folder for the runs of a command."""
    try:
        return create_unique_directory(out.absolute(), f"{time.strftime('%Y%m%d-%H%M%S')}-{command_name}")
    except OSError as error:
        raise TicktreeError(f"cannot keep runs in {out}: {error.strerror}") from None


def in_turn(pairs: int) -> Iterator[tuple[int, int]]:
    """Yield A B, B A, A B, ...: the index of the pair, and that of the side."""
    for number in range(pairs):
        yield from ((number, side) for side in ((0, 1) if number % 2 == 0 else (1, 0)))


def run_program(
    words: Sequence[str],
    out: Path,
    variables: Mapping[str, str] | None = None,
    stdout: IO[bytes] | None = None,
    directory: str | None = None,
) -> Profile:
    """Run a program once, with more environment variables, and append what it prints to a file next to the run.

    Args:
        words: As after `ticktree run`.
        out: The directory of runs.
        variables: To add to this process's environment.
        stdout: Gets its standard output instead of the file.
        directory: Its working directory; by default, that of this process.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with (
        open_own_directory(out, make=True) as at,
        os.fdopen(os.open(_LOG, flags, 0o666, dir_fd=at), "ab") as log,
    ):
        process = subprocess.run(
            [sys.executable, "-m", "ticktree", "run", "--quiet", "--no-history", "--out", str(out), *words],
            cwd=directory,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=log if stdout is None else stdout,
            stderr=log,
            check=False,
        )
    if process.returncode:
        raise TicktreeError(f"{shlex.join(words)} ended with status {process.returncode}; see {out / _LOG}")
    return RunDirectory.newest(out).profile()


def _is_certain(compared: Comparison) -> bool:
    """Return whether the verdict on every loop is certain; on every section if there is no loop."""
    loops = [entry for entry in compared.entries if entry.kind == "loop"]
    return all(entry.verdict != "inconclusive" for entry in loops or compared.entries)
