"""From memory files to a profile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.profile import Profile, ProfileError
from ticktree.run.branches import Branch
from ticktree.run.gathering import gather
from ticktree.run.image import DamagedError, Image
from ticktree.run.layout import HeaderFlag
from ticktree.run.places import Places
from ticktree.run.records import ImageReader

if TYPE_CHECKING:
    from ticktree.run.directory import RunDirectory


def read_run(run: RunDirectory) -> Profile:
    """What the processes of a run have recorded so far, each file as it is at this moment.

    A file that is damaged costs its own contents, and is counted as a loss, as long as another is whole.

    Raises:
        DamagedError: No file could be read; it says what is wrong with the first.
    """
    found = gather(run, lambda path: _image_of(path, run))
    errors = list(found.errors.values())
    folded = found.folded
    whole = read_images(found.images.values(), run.id, errors, Places(folded.places))
    if errors and not (found.images or folded.files):
        raise errors[0]
    return whole + folded.profile


def _image_of(path: Path, run: RunDirectory) -> Image:
    image = Image.of_file(path)
    writer = run.manifest.owner.beside(image.header.pid, image.header.process_start)
    # A process looks at its clock when it ends a call, at times minutes apart; a dead one never will again.
    if image.header.flags & HeaderFlag.RECORDING and writer.is_alive():
        image.go_on_to(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    return image


def read_file(path: Path) -> Profile:
    """The profile of one memory file.

    Raises:
        DamagedError: It is not one, or what it says cannot be.
    """
    errors: list[DamagedError] = []
    profile = read_images([Image.of_file(path)], os.fspath(path.name), errors)
    if errors:
        raise errors[0]
    return profile


def read_images(
    images: Iterable[Image], run_id: str, errors: list[DamagedError], known: Places | None = None
) -> Profile:
    """One tree of several processes; each hangs under the node that was open where it was started.

    Args:
        images: One a process.
        run_id: What the profile calls this run.
        errors: Files found damaged are added to it, and left out.
        known: Where the nodes of processes are that are not among the images.
    """
    images = list(images)
    while True:
        try:
            profile = _joined(images, run_id, known or Places())
            break
        except _FoundDamagedError as found:
            images.remove(found.image)
            errors.append(found.error)
    if errors:
        profile = profile.merge(Profile(losses={"memory_files_damaged": len(errors)}))
    return profile


class _FoundDamagedError(Exception):
    def __init__(self, image: Image, error: DamagedError) -> None:
        super().__init__(str(error))
        self.image = image
        self.error = error


def _joined(images: list[Image], run_id: str, known: Places) -> Profile:
    root = Branch("root", "")
    places: dict[tuple[int, int], dict[int, Branch]] = {}
    parts = []
    for image in _parents_first(images):
        header = image.header
        above = places.get((header.parent_pid, header.parent_start), {}).get(header.parent_node)
        if above is None:
            above = root.at(known.path((header.parent_pid, header.parent_start), header.parent_node))
        try:
            reader = ImageReader(image, run_id)
            _check(image, reader)
            places[header.pid, header.process_start] = reader.grow(above, is_child=bool(header.parent_pid))
            parts.append(reader.rest())
        except DamagedError as error:
            raise _FoundDamagedError(image, error) from None
    rest = reduce(add, parts, Profile())
    return Profile(root.to_node(), rest.loops, rest.gauges, rest.metadata, rest.losses)


def _check(image: Image, reader: ImageReader) -> None:
    """What a damaged file says may lie within it and still be impossible: nothing of it must reach the others."""
    alone = Branch("root", "")
    reader.grow(alone, is_child=False)
    rest = reader.rest()
    try:
        Profile(alone.to_node(), rest.loops, rest.gauges, rest.metadata, rest.losses).check()
    except ProfileError as error:
        raise image.damaged(str(error)) from None


def _parents_first(images: list[Image]) -> list[Image]:
    by_writer = {(image.header.pid, image.header.process_start): image for image in images}
    ordered: list[Image] = []
    done: set[int] = set()
    for image in images:
        line = []
        above: Image | None = image
        while above is not None and id(above) not in done:
            done.add(id(above))
            line.append(above)
            above = by_writer.get((above.header.parent_pid, above.header.parent_start))
        ordered.extend(reversed(line))
    return ordered
