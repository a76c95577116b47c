"""Datasets: a run's tables in a directory, for `export --table all` and `query`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.loading import find_run, load_timeline
from ticktree.outputs import dataset
from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline
from ticktree.run.timeline import timeline_parts


def is_dataset(folder: Path) -> bool:
    """Whether a directory holds one."""
    return all((folder / f"{table}.parquet").is_file() for table in dataset.TABLES)


def write_dataset(folder: Path, profile: Profile, run: Path | None) -> None:
    """Write every table of a run into a directory that is new or empty.

    Args:
        folder: the directory; made if it is missing.
        profile: of the run.
        run: what the user names it by; None for the newest.

    Raises:
        TicktreeError: The directory cannot be written or is not empty, or the timeline cannot be read.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            # Files of processes of another run would be read as of this.
            raise TicktreeError(f"{folder} is not empty: a dataset is a directory of its own")
        for name, content in dataset.files(profile, _parts(run)):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
    except OSError as error:
        raise TicktreeError(f"cannot write {folder}: {error.strerror}") from None


def _parts(run: Path | None) -> Iterator[Timeline]:
    if run is None or run.is_dir():
        yield from timeline_parts(find_run(run))
    elif (timeline := load_timeline(run)) is not None:
        yield timeline
