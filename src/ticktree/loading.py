"""Load the profile or timeline of whatever a user names: a run, a directory of runs or a file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from ticktree.errors import TicktreeError
from ticktree.files.guarded import MAX_DATA_BYTES, MissingFileError, decoding, read_bytes
from ticktree.importers import chrome, mlagents
from ticktree.importers.text import parse_json
from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline
from ticktree.run.directory import DEFAULT_OUT
from ticktree.run.finishing import RunDirectory
from ticktree.run.manifest import MANIFEST_NAME


def load(path: str | os.PathLike[str], *, categories: Collection[str] = ()) -> Profile:
    """Return the profile of a run, finished or running, or one saved as JSON.

    Args:
        path: A run's directory, a directory of runs (the newest is used), a profile's JSON file, a Chrome trace, or a
            timers file of the ML-Agents toolkit; files may be compressed by gzip.
        categories: Of a Chrome trace, the categories of events to read; by default those that suit its writer.

    Raises:
        TicktreeError: It does not exist, or cannot be read.
    """
    path = Path(path)
    return find_run(path).profile() if path.is_dir() else read_profile(path, categories)


def load_repeats(paths: Iterable[Path], categories: Collection[str] = ()) -> list[Profile]:
    """Return the profiles of runs and files; of a directory of runs all of them, because they are repeats.

    Raises:
        TicktreeError: One cannot be read; see `load`.
    """
    profiles = []
    for path in paths:
        runs = [] if (path / MANIFEST_NAME).exists() else RunDirectory.list(path)
        profiles.extend([run.profile() for run in runs] if runs else [load(path, categories=categories)])
    return profiles


def find_run(path: Path | None) -> RunDirectory:
    """Return the run in a directory, the newest in a directory of runs, or for None the newest run here.

    Raises:
        TicktreeError: There is none.
    """
    if path is None:
        return RunDirectory.newest(DEFAULT_OUT)
    if (path / MANIFEST_NAME).exists() or not RunDirectory.list(path):
        return RunDirectory.open(path)
    return RunDirectory.newest(path)


def load_timeline(path: Path, categories: Collection[str] = ()) -> Timeline | None:
    """Return the timeline of a run or a Chrome trace; None if it was not recorded, or the file is another.

    Args:
        path: As for `load`.
        categories: See `load`.

    Raises:
        TicktreeError: It cannot be read.
    """
    if path.is_dir():
        return find_run(path).timeline()
    content = _read_content(path)
    with decoding(path):
        value = parse_json(content)
        return chrome.timeline_of(value, categories) if chrome.is_trace(value) else None


def read_profile(path: Path, categories: Collection[str] = ()) -> Profile:
    """Return the profile in a JSON file, whose format is detected from its content.

    Args:
        path: The file.
        categories: See `load`.

    Raises:
        TicktreeError: The file cannot be read or is not a valid profile.
    """
    content = _read_content(path)
    with decoding(path):
        value = parse_json(content)
        if chrome.is_trace(value):
            return chrome.profile_of(value, _run_id(path), categories)
        if mlagents.is_timers_file(value):
            return mlagents.profile_of(value, _run_id(path))
        profile = Profile.from_value(value)
        profile.check()
        return profile


def _read_content(path: Path) -> bytes:
    try:
        return read_bytes(path, MAX_DATA_BYTES)
    except MissingFileError:
        raise TicktreeError(f"{path}: there is no such file or run") from None


def _run_id(path: Path) -> str:
    """Return the id of a file's run: the file's name without its extensions."""
    return path.name.removesuffix(".gz").removesuffix(".json") or path.name
