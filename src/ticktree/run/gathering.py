"""What a run consists of at one moment: memory files, and what has been folded of it, while folders are at work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.run.folded import Folded, read_folded
from ticktree.run.naming import FOLDED
from ticktree.run.reading.image import DamagedError, GoneError, Image, UnbegunError

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles


@dataclass
class Gathered:
    """A run's parts; nothing is in two of them, and nothing in none.

    Attributes:
        images: The memory files that could be read, by path.
        errors: What is wrong with those that could not.
        folded: All that has been folded.
        unbegun: Files in which nothing has been written yet.
    """

    images: dict[Path, Image] = field(default_factory=dict)
    errors: dict[Path, DamagedError] = field(default_factory=dict)
    folded: Folded = field(default_factory=Folded)
    unbegun: list[Path] = field(default_factory=list)

    def leave_out_folded(self) -> None:
        """Drops what was read of files that have been folded since: their processes had ended, it is the same."""
        names = self.folded.files
        self.images = {path: image for path, image in self.images.items() if path.name not in names}
        self.errors = {path: error for path, error in self.errors.items() if path.name not in names}
        self.unbegun = [path for path in self.unbegun if path.name not in names]


def gather(run: RunFiles, read: Callable[[Path], Image] = Image.of_file) -> Gathered:
    """Reads a run's files while its processes write to them, and others may fold them.

    A file is deleted only after `folded.json` names it. So what was found is whole if that is the same before
    and after; where it is not, what it names by now is left out of what was read.

    Args:
        run: The run.
        read: Reads one file.
    """
    found = Gathered()

    def look() -> Folded:
        try:
            return read_folded(run.path, found.folded)
        except DamagedError as error:
            found.errors[run.path / FOLDED] = error
            return found.folded

    found.folded = look()
    for path in run.memory_files():
        if path.name in found.folded.files:
            continue
        try:
            found.images[path] = read(path)
        except GoneError:
            continue  # folded meanwhile, or the run was finished
        except UnbegunError:
            found.unbegun.append(path)
        except DamagedError as error:
            found.errors[path] = error
    while (now := look()) is not found.folded:
        found.folded = now
    found.leave_out_folded()
    return found
