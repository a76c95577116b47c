"""`ticktree merge`: merge the runs of one job, from several machines, into one profile."""

from __future__ import annotations

import glob
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from ticktree.cli import options
from ticktree.cli.files import deliver
from ticktree.cli.runs import CommandOfRuns, run_named
from ticktree.cli.screen import note, progress, show, view_options
from ticktree.cli.summary import note_if_empty, settings_or_defaults
from ticktree.errors import TicktreeError
from ticktree.files.guarded import FileError
from ticktree.fleet.merging import ENGINES
from ticktree.history import HISTORY_NAME
from ticktree.outputs import OUTPUTS
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.job import copied_run_id, count_missing, describe_partial, gathered_profiles, is_partial
from ticktree.run.manifest import MANIFEST_NAME
from ticktree.run.merging import Job, Part
from ticktree.run.reading.reader import merge_short_lived
from ticktree.run.sweep import finish_abandoned

_NAMED_AT_MOST = 3


@click.command("merge", cls=CommandOfRuns, short_help="Merge the runs of one job.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@options.output
@click.option("--name", metavar="NAME", help="Name of the merged run. By default, job.")
@click.option(
    "--engine",
    "engine_name",
    type=options.WordChoice(list(ENGINES)),
    default="process",
    show_default=True,
    help="Where to merge: in this process, or in tasks on a Ray cluster.",
)
@click.option("--skip", is_flag=True, help="Leave out runs that cannot be read, and count them as losses.")
@click.option("--allow-different", is_flag=True, help="Merge runs of different programs.")
@click.option(
    "--no-threads",
    is_flag=True,
    help="Keep only sums, not what each process and thread did: for jobs of thousands of processes.",
)
def command(
    runs: tuple[str, ...],
    output: Path | None,
    name: str | None,
    engine_name: str,
    skip: bool,
    allow_different: bool,
    no_threads: bool,
) -> None:
    """Merge the runs of one job, such as those of several machines, into one profile.

    RUN is a run's directory or name, last, -2, a directory of runs (all of them), a saved profile, or a quoted pattern
    of such names: 'runs/**/*.json'. Without -o FILE, the merged tree is printed. Clocks of different machines are
    never compared.
    """
    with progress("merging"):
        finish_abandoned()
        damaged: dict[Path, FileError] = {}
        sources = _sources(runs, skip, damaged)
        part = ENGINES[engine_name](sources, Job.of(sources, name, keeps_threads=not no_threads))
    _refuse(part, skip, allow_different)
    for error in list(damaged.values())[:_NAMED_AT_MOST]:
        note(f"Left out: {error}")
    profile = _merged_profile(part, sources, len(damaged))
    for path in list(filter(is_partial, sources))[:_NAMED_AT_MOST]:
        note(f"Gathered in part: {describe_partial(path)}")
    note_if_empty(profile)
    if output is None:
        view = replace(view_options(sys.stdout), settings=settings_or_defaults())
        show(OUTPUTS["terminal"].render(profile, view), sys.stdout)
        return
    deliver(profile.to_json().encode(), output)
    if output != Path("-"):
        runs_in = max(len(part.runs), part.sources)
        note(f"{formatting.counted(runs_in, 'run')} in {output}; `ticktree report {output}` shows them")


def _sources(words: Sequence[str], skip: bool, damaged: dict[Path, FileError]) -> list[Path]:
    """Return the runs and files that the command line names, each once and in a fixed order.

    Damaged runs in directories of runs are added to `damaged`. With `skip`, a word may name nothing.
    """
    sources: dict[Path, None] = {}
    words_by_path: dict[Path, str] = {}
    for word in words:
        if glob.has_magic(word) and not Path(word).exists():
            # `glob` leaves hidden files out, which are still being written.
            paths = [Path(path) for path in sorted(glob.glob(word, recursive=True))]  # noqa: PTH207 - ** and names
            if not paths:
                raise TicktreeError(f"{word}: no file or run matches")
        else:
            paths = [_path_of_word(word, skip)]
            place = paths[0].resolve()
            if place in words_by_path:
                raise TicktreeError(
                    f"{words_by_path[place]} and {word} are the same run, which would count twice"
                )
            words_by_path[place] = word
        for path in paths:
            if path.name == HISTORY_NAME and RunDirectory.list(path.parent):
                continue  # A shell's pattern contains it: ticktree-runs/*
            sources.update(dict.fromkeys(_runs_in(path, damaged)))
    # A gathered copy has what had been recorded by then; if the run itself is also named, it has everything.
    ids = set()
    for path in sources:
        with suppress(TicktreeError):  # a file, or damaged: reading it reports why
            ids.add(RunDirectory.open(path).id)
    return [path for path in sources if copied_run_id(path) not in ids]


def _path_of_word(word: str, skip: bool) -> Path:
    try:
        return run_named(word)
    except TicktreeError:
        if not skip:
            raise
        return Path(word)


def _runs_in(path: Path, damaged: dict[Path, FileError]) -> list[Path]:
    """Return the runs of a directory of runs, or a run with what it has gathered.

    A JSON file in a run's directory, such as its manifest, stands for the run.
    """
    if (path.parent / MANIFEST_NAME).exists() and path.name.endswith(".json"):
        path = path.parent
    if (path / MANIFEST_NAME).exists():
        return [path, *gathered_profiles(path)]
    runs, unreadable = RunDirectory.list_all(path)
    damaged.update(unreadable)
    return [source for run in runs for source in _runs_in(path / run.path.name, damaged)] or [path]


def _refuse(part: Part, skip: bool, allow_different: bool) -> None:
    """Refuse what would not be the profile of one job: runs that cannot be read, are there twice, or differ."""
    if part.failed and not (skip and part.sources):
        raise TicktreeError(_enumerate([reason for _, reason in sorted(part.failed)], "cannot be read"))
    for _, reason in sorted(part.failed)[:_NAMED_AT_MOST]:
        note(f"Left out: {reason}")
    if part.again:
        twice = [f"{second} has a run that {first} also has" for second, first in sorted(part.again)]
        raise TicktreeError(_enumerate(twice, "are there twice"))
    if len(part.programs) > 1 and not allow_different:
        programs = ", ".join(f"{program} ({count:,})" for program, count in sorted(part.programs.items()))
        raise TicktreeError(
            f"these are runs of different programs: {programs}; --allow-different merges them"
        )


def _enumerate(reasons: Sequence[str], predicate: str) -> str:
    hidden = len(reasons) - _NAMED_AT_MOST
    first = "; ".join(reasons[:_NAMED_AT_MOST])
    return f"{first}; {hidden:,} more {predicate}" if hidden > 0 else first


def _merged_profile(part: Part, sources: Sequence[Path], damaged: int) -> Profile:
    losses = {
        "profiles_not_merged": len(part.failed) + damaged,  # left out by `--skip`
        "runs_not_gathered": sum(
            map(count_missing, sources)
        ),  # whose profiles the job's rank 0 did not receive
        "runs_gathered_in_part": sum(map(is_partial, sources)),  # rank 0 received them only while they ran
    }
    return merge_short_lived(part.profile.merge(Profile(losses={name: n for name, n in losses.items() if n})))
