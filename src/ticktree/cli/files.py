"""What commands read and write: the run that a user names, and the file that the result goes to."""

from __future__ import annotations

from pathlib import Path

from ticktree.cli.progress import progress
from ticktree.errors import TicktreeError
from ticktree.profile import Profile
from ticktree.run.abandoned import finish_abandoned
from ticktree.run.atomic import write_atomically
from ticktree.run.loading import find_run, load

STANDARD_OUTPUT = Path("-")


def read(path: Path | None) -> Profile:
    """The profile of a run or a saved one; for None of the newest run.

    Raises:
        TicktreeError: There is none, or it cannot be understood.
    """
    with progress("reading"):
        finish_abandoned()
        return find_run(None).profile() if path is None else load(path)


def write(path: Path, document: bytes) -> None:
    """Write a file, whole or not at all.

    Raises:
        TicktreeError: It cannot be written; what was there before is as it was.
    """
    try:
        write_atomically(path, document)
    except OSError as error:
        raise TicktreeError(f"cannot write {path}: {error.strerror}") from None
