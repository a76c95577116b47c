"""What commands read and write: the run that a user names, and the file for the result."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.cli.screen import is_terminal, note, progress, show, show_bytes, view_options
from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.loading import find_run, load, load_repeats, load_timeline
from ticktree.outputs import OUTPUTS
from ticktree.profile import Profile
from ticktree.run.directory import DEFAULT_OUT
from ticktree.run.naming import shell_path
from ticktree.run.sweep import finish_abandoned

if TYPE_CHECKING:
    from ticktree.outputs import Output, ViewOptions
    from ticktree.profile.timeline import Timeline


_STANDARD_OUTPUT = Path("-")


def read(path: Path | None, categories: Collection[str] = ()) -> Profile:
    """Return the profile of a run, or a saved profile; for None, that of the newest run.

    Of a Chrome trace, events of these categories are read; without categories, a note names those not read.
    """
    with progress("reading"):
        finish_abandoned()
        profile = find_run(None).profile() if path is None else load(path, categories=categories)
    if categories and "Chrome trace" not in profile.metadata.get("read_from", ()):
        note(f"{'The newest run' if path is None else path} is not a Chrome trace: --category has no effect")
    unread = [] if categories else sorted(map(str, profile.metadata.get("not_read", ())))
    if unread:
        note(f"Not read: events of {', '.join(unread)}; --category NAME reads those of one instead")
    return profile


def read_repeats(paths: Iterable[Path], categories: Collection[str] = ()) -> list[Profile]:
    """Return the profiles of runs, saved profiles, and all runs in directories of runs."""
    with progress("reading"):
        finish_abandoned()
        return load_repeats(paths, categories)


def run_words(path: Path) -> str:
    """Return what the user types to name a run: its name alone if it is where commands look for runs."""
    return path.name if path.parent.resolve() == DEFAULT_OUT.resolve() else shell_path(path)


def timeline_for(form: Output, path: Path | None, categories: Collection[str] = ()) -> Timeline | None:
    """Return the timeline of what `read` reads, if there is one and this format shows timelines."""
    if not form.takes_events:
        return None
    try:
        with progress("reading the timeline"):
            return find_run(None).timeline() if path is None else load_timeline(path, categories)
    except TicktreeError as error:
        if form.needs_events:
            raise
        note(f"Without the timeline: {error}")
        return None


def format_of(output: Path | None, able: Collection[str] = OUTPUTS) -> str:
    """Return the format, of those that are `able`, for a file's suffix; "terminal" for standard output and `.txt`."""
    suffix = "" if output is None else output.suffix.lower()
    if suffix in ("", ".txt"):
        return "terminal"
    formats_by_suffix = {form.suffix: name for name, form in reversed(OUTPUTS.items()) if name in able}
    if suffix not in formats_by_suffix:
        suffixes = ", ".join(sorted(formats_by_suffix))
        raise TicktreeError(
            f"{output}: no format has the suffix {suffix}; known: {suffixes} (or give --format)"
        )
    return formats_by_suffix[suffix]


def view_for(output: Path | None, width: int | None) -> ViewOptions:
    """Return how to draw what `deliver` writes, by default in the terminal's width. Only a terminal gets colours."""
    view = view_options(sys.stdout)
    color = view.color and output in (None, _STANDARD_OUTPUT)
    return replace(view, color=color, width=width or view.width)


def deliver(document: bytes, output: Path | None, *, binary: bool = False) -> None:
    """Print a document, or write it to a file: whole or not at all. What is not text is not printed on a terminal."""
    if output is not None and output != _STANDARD_OUTPUT:
        try:
            write_atomically(output, document)
        except OSError as error:
            raise TicktreeError(f"cannot write {output}: {error.strerror}") from None
    elif not binary:
        show(document, sys.stdout)
    elif is_terminal(sys.stdout):
        raise TicktreeError("this format is binary: write it to a file with -o FILE, or to a pipe")
    else:
        show_bytes(document, sys.stdout)
