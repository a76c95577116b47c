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
from ticktree.run.image import DamagedError, Image, Writer
from ticktree.run.layout import HeaderFlag
from ticktree.run.records import ImageReader

if TYPE_CHECKING:
    from ticktree.run.directory import RunDirectory


def read_run(run: RunDirectory) -> Profile:
    """What the processes of a run have recorded so far, each file as it is at this moment.

    A file that is damaged costs its own contents, and is counted as a loss, as long as another is whole.

    Raises:
        DamagedError: No file could be read; it says what is wrong with the first.
    """
    images: list[Image] = []
    errors: list[DamagedError] = []
    for path in run.memory_files():
        try:
            images.append(_image_of(path, run))
        except DamagedError as error:
            errors.append(error)
    whole = read_images(images, run.id, errors)
    if errors and not images:
        raise errors[0]
    return whole


def _image_of(path: Path, run: RunDirectory) -> Image:
    image = Image.of_file(path)
    writer = image.writer
    process = run.manifest.owner.beside(writer.pid, writer.start)
    replaced = path.with_name(f"{writer._replace(incarnation=writer.incarnation + 1)}.tt").exists()
    # A process looks at its clock when it ends a call, at times minutes apart; a dead one never will again, nor one
    # that runs another program now.
    if image.header.flags & HeaderFlag.RECORDING and not replaced and process.is_alive():
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


def read_images(images: Iterable[Image], run_id: str, errors: list[DamagedError]) -> Profile:
    """One tree of several processes; each hangs under the node that was open where it was started.

    Args:
        images: One a process.
        run_id: What the profile calls this run.
        errors: Files found damaged are added to it, and left out.
    """
    images = list(images)
    while True:
        try:
            profile = _joined(images, run_id)
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


def _joined(images: list[Image], run_id: str) -> Profile:
    root = Branch("root", "")
    places: dict[Writer, dict[int, Branch]] = {}
    parts = []
    for image in _parents_first(images):
        # Where the parent is known and the node is not, the child hangs where its parent does: at its node 0.
        above = places.get(image.parent, {}).get(image.header.parent_node, root)
        try:
            reader = ImageReader(image, run_id)
            _check(image, reader)
            places[image.writer] = {0: above, **reader.grow(above, is_child=bool(image.parent.pid))}
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
    by_writer = {image.writer: image for image in images}
    ordered: list[Image] = []
    done: set[int] = set()
    for image in images:
        line = []
        above: Image | None = image
        while above is not None and id(above) not in done:
            done.add(id(above))
            line.append(above)
            above = by_writer.get(above.parent)
        ordered.extend(reversed(line))
    return ordered
