"""What commands read and write: the run that a user names, and the file for the result."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.cli.screen import is_terminal, note, progress, show, show_bytes, view_options
from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.loading import find_run, load, load_timeline
from ticktree.outputs import OUTPUTS
from ticktree.profile import Profile
from ticktree.run.abandoned import finish_abandoned
from ticktree.run.directory import DEFAULT_OUT
from ticktree.run.naming import as_typed

if TYPE_CHECKING:
    from ticktree.outputs import Output, ViewOptions
    from ticktree.profile.timeline import Timeline


_STANDARD_OUTPUT = Path("-")


def read(path: Path | None, categories: Collection[str] = ()) -> Profile:
    """Return the profile of a run, or a saved profile; for None, that of the newest run.

    Args:
        path: How the user named it.
        categories: The categories of a Chrome trace whose events to read. By default, a note names those not read.

    Raises:
        TicktreeError: There is none, or it cannot be read.
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


def named(path: Path) -> str:
    """Return what the user types to name a run: its name alone if it is where commands look for runs."""
    return path.name if path.parent.resolve() == DEFAULT_OUT.resolve() else as_typed(path)


def timeline_for(form: Output, path: Path | None, categories: Collection[str] = ()) -> Timeline | None:
    """Return the timeline of what `read` reads, if this format shows timelines.

    None if none was recorded, or if such a file does not contain one.

    Raises:
        TicktreeError: It cannot be read, and the format shows nothing else.
    """
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
    """Return the name of the format with the suffix of `output`; "terminal" for standard output and `.txt`.

    Args:
        output: The file; None or "-" for standard output.
        able: The names of the available formats.

    Raises:
        TicktreeError: No format has this suffix.
    """
    suffix = "" if output is None else output.suffix.lower()
    for name, form in OUTPUTS.items():
        if name in able and form.suffix == suffix:
            return name
    if suffix not in ("", ".txt"):
        known = sorted(
            {form.suffix for name, form in OUTPUTS.items() if name in able and form.suffix} | {".txt"}
        )
        raise TicktreeError(
            f"{output}: no format has the suffix {suffix}; known: {', '.join(known)} (or give --format)"
        )
    return "terminal"


def view_for(output: Path | None, width: int | None) -> ViewOptions:
    """Return how to draw what `deliver` writes.

    Args:
        output: The file it goes to; None or "-" for standard output. Only a terminal gets colours.
        width: In columns; None for the terminal's.
    """
    view = view_options(sys.stdout)
    color = view.color and output in (None, _STANDARD_OUTPUT)
    return replace(view, color=color, width=width or view.width)


def deliver(document: bytes, output: Path | None, *, binary: bool = False) -> None:
    """Print a document, or write it to a file: whole or not at all.

    Args:
        document: What is written.
        output: The file; None or "-" for standard output.
        binary: Whether it is not text, which is not printed on a terminal.

    Raises:
        TicktreeError: It cannot be written; an earlier file is unchanged.
    """
    if output is None or output == _STANDARD_OUTPUT:
        if binary:
            _print_bytes(document)
        else:
            show(document, sys.stdout)
        return
    try:
        write_atomically(output, document)
    except OSError as error:
        raise TicktreeError(f"cannot write {output}: {error.strerror}") from None


def _print_bytes(document: bytes) -> None:
    if is_terminal(sys.stdout):
        raise TicktreeError("this format is binary: write it to a file with -o FILE, or to a pipe")
    show_bytes(document, sys.stdout)
