"""Elsewhere: parts of a run that other machines recorded, handed over while it goes on.

    ticktree-runs/RUN/elsewhere/NAME.json     a profile, of all that NAME has handed over so far

Each is replaced as a whole, so that nothing counts twice, and deleted once it is in the run's profile.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ticktree.run.atomic import write_atomically

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.directory import RunDirectory

FOLDER = "elsewhere"


def keep_elsewhere(run: RunDirectory, name: str, profile: bytes) -> None:
    """Makes `profile` all that is known of one part; nothing once the run is finished.

    Args:
        run: The run.
        name: Of the part: a file's.
        profile: As JSON.

    Raises:
        OSError: The directory cannot be written.
    """
    if run.is_finished():
        return
    folder = run.path / FOLDER
    folder.mkdir(exist_ok=True)
    write_atomically(folder / f"{name}.json", profile, follow=False)


def read_elsewhere(run: RunDirectory) -> Profile:
    """All parts together, as parts of the run; one that cannot be read is a loss."""
    from ticktree.profile import Profile

    paths = sorted((run.path / FOLDER).glob("*.json"))
    if not paths:
        return Profile()
    from ticktree.run.merging.job import Job
    from ticktree.run.merging.part import joined, part_of

    part = joined(part_of(path, Job(run.id)) for path in paths)
    lost = {"parts_from_elsewhere_damaged": len(part.failed)} if part.failed else {}
    return part.profile.merge(Profile(losses=lost))


def forget_elsewhere(run: RunDirectory) -> None:
    """Deletes the parts."""
    folder = run.path / FOLDER
    with suppress(OSError):  # another may finish the run at the same time
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        folder.rmdir()
