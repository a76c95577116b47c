"""The profile of a run at any time, how it is saved, and how the run is finished.

A profiled program imports this module when it starts: it imports slow modules only when they are needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from ticktree.errors import TicktreeError
from ticktree.files.owner import process_start
from ticktree.files.trust import list_names
from ticktree.run.directory import PROFILE, RunFiles, unlink_at
from ticktree.run.free_memory import require_free_memory
from ticktree.run.memory import remove_memory, require_memory, writer_of
from ticktree.run.naming import FOLDED
from ticktree.run.parts import delete_parts

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.profile.timeline import Timeline

# Folded records, images of private memory, and temporary files of killed writers.
_TEMPORARY_NAME = r"folded\.json|without-room|not-instrumented|\d+-\d+(-\d+)?\.tt|\..+\.(?P<writer>\d+)\.tmp"


class RunDirectory(RunFiles):
    """One run on disk."""

    def profile(self) -> Profile:
        """Return the run's profile: while the program runs, up to this moment.

        Raises:
            TicktreeError: No records are left, or they cannot be read.
        """
        profile = self._read_memory()
        return self._read_saved() if profile is None else profile

    def fold(self) -> None:
        """Save the profile so far: memory does not survive a stop of the machine.

        Raises:
            TicktreeError: The records cannot be read.
            OSError: The profile cannot be written.
        """
        profile = self._read_memory()
        if profile is not None:
            self._save(_annotate(profile, {"unfinished": True}))

    def finish(self, left: int | None = None) -> Profile:
        """Save the whole run's profile, free its memory, and return the profile.

        A run that is already finished stays as it is.

        Args:
            left: pid of a process that continues but no longer records.

        Raises:
            TicktreeError: The records cannot be read.
            OSError: The profile cannot be written; the memory files are kept.
        """
        if not self.is_finished():
            require_memory(self.memory_dir)  # it is deleted below
        profile = self._read_memory()
        if profile is None:
            return self._read_saved()
        from ticktree.run.timeline import keep_timeline

        losses = {"processes_outlived_run": self._count_outliving(left), **keep_timeline(self)}
        profile = _annotate(profile, {}, losses)
        self._save(profile)
        remove_memory(self.memory_dir)
        self.tidy()
        return profile

    def tidy(self) -> None:
        """Delete files from a finished run's directory that its profile includes, and those of killed writers."""
        with self.open_directory() as dir_fd:
            for name in list_names(dir_fd):
                match = re.fullmatch(_TEMPORARY_NAME, name)
                # Two processes may finish a run at the same time, and the other may still be writing.
                if match and (match["writer"] is None or process_start(int(match["writer"])) is None):
                    unlink_at(name, dir_fd)
        delete_parts(self)

    def timeline(self) -> Timeline | None:
        """Return the individual calls that are kept; None if the run recorded no timeline.

        Raises:
            TicktreeError: The timeline cannot be read.
        """
        from ticktree.profile.timeline import merge_timelines
        from ticktree.run.timeline import timeline_parts

        parts = list(timeline_parts(self))
        return merge_timelines(parts) if parts else None

    def _read_memory(self) -> Profile | None:
        """Return the profile in the memory files; None if the run is finished, even at this moment."""
        if self.is_finished():
            return None
        require_free_memory()
        from ticktree.run.reading.reader import read_run

        profile = read_run(self)
        # Memory is renamed before its first file is deleted: if it still exists, no file was missing.
        return None if self.is_finished() else _annotate(profile, self.manifest.metadata)

    def _read_saved(self) -> Profile:
        from ticktree.run.merging import read_saved
        from ticktree.run.reading.reader import read_run

        if (self.path / PROFILE).is_file():
            return read_saved(self.path / PROFILE)
        if not (self.path / FOLDED).is_file():
            raise TicktreeError(f"nothing is left of {self.path}: never saved, and gone from memory")
        # The machine was stopped before the first save.
        return _annotate(read_run(self), {**self.manifest.metadata, "unfinished": True})

    def _save(self, profile: Profile) -> None:
        self.write(PROFILE, profile.to_json().encode(), durable=True)

    def _count_outliving(self, left: int | None) -> int:
        """Return how many recorded processes continue; their further records will be lost."""
        writers = {writer_of(file) for file in self.memory_files()}
        return sum(
            pid not in (os.getpid(), left) and process_start(pid) == started for pid, started in writers
        )


def _annotate(
    profile: Profile,
    facts: Mapping[str, str | int | float | bool],
    losses: Mapping[str, int] = MappingProxyType({}),
) -> Profile:
    from ticktree.profile import Profile

    notes = Profile(
        metadata={key: frozenset([value]) for key, value in facts.items()},
        losses={loss: count for loss, count in losses.items() if count},
    )
    return profile.merge(notes)
