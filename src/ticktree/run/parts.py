"""Parts of a run that other machines recorded and sent while the run continues.

    ticktree-runs/RUN/parts/NAME.json     the profile of part NAME so far

Each is replaced as a whole, so that no call counts twice, and deleted once it is in the run's profile.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ticktree.files.trust import list_names

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.directory import RunFiles

FOLDER = "parts"


def write_part(run: RunFiles, name: str, profile: bytes) -> None:
    """Replace the profile of one part; do nothing once the run is finished.

    Raises:
        OSError: The directory cannot be written.
    """
    if run.is_finished():
        return
    run.write(f"{name}.json", profile, folder=FOLDER)


def read_parts(run: RunFiles) -> Profile:
    """Return the merged profile of all parts; a part that cannot be read is a loss."""
    from ticktree.profile import Profile

    paths = sorted((run.path / FOLDER).glob("*.json"))
    if not paths:
        return Profile()
    from ticktree.run.merging import Job, merge_parts, read_part, read_saved

    part = merge_parts(read_part(path, Job(run.id), read_saved) for path in paths)
    losses = {"parts_damaged": len(part.failed)} if part.failed else {}
    return part.profile.merge(Profile(losses=losses))


def delete_parts(run: RunFiles) -> None:
    """Delete the parts."""
    # Another process may finish the run at the same time.
    with suppress(OSError), run.open_directory() as run_fd:
        with run.open_directory(FOLDER) as folder_fd:
            for name in list_names(folder_fd):
                os.unlink(name, dir_fd=folder_fd)
        os.rmdir(FOLDER, dir_fd=run_fd)
