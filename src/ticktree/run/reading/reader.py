"""From memory files to a profile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.profile import Profile
from ticktree.profile.pausing import collector_paused
from ticktree.run.gathering import gather
from ticktree.run.instrument_losses import read_instrument_losses
from ticktree.run.parts import read_parts
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.joining import Joining
from ticktree.run.reading.layout import HeaderFlag
from ticktree.run.reading.places import NodeLocations
from ticktree.run.reading.whole_run import add_up_crowds, without_blanks
from ticktree.run.readings import kept
from ticktree.run.without_room import LOSS, count_without_room

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles


def read_run(run: RunFiles) -> Profile:
    """What the processes of a run have recorded so far, each file as it is at this moment.

    A file that is damaged costs its own contents, and is counted as a loss, as long as another is whole.

    Raises:
        DamagedError: No file could be read; it says what is wrong with the first.
    """
    found = gather(run, lambda path: _image_of(path, run))
    folded = found.folded
    joining = Joining(run.id, NodeLocations(folded.places))
    joining.take(folded.loose, folded.longest)
    joining.errors.extend(found.errors.values())
    with collector_paused():
        for image in found.images.values():
            joining.add(image)
        whole = joining.profile()
    if joining.errors and not (joining.files or folded.files):
        raise joining.errors[0]
    known = {*(path.name for path in (*found.images, *found.errors)), *folded.files}
    without_room = count_without_room(run, known)
    lost = Profile(losses={LOSS: without_room} if without_room else {})
    merged = whole.merge(folded.profile, _machine(run), read_parts(run), lost, read_instrument_losses(run))
    return add_up_crowds(without_blanks(merged))


def _machine(run: RunFiles) -> Profile:
    """What the machine did meanwhile, where somebody watched it."""
    try:
        return Profile(gauges=kept(run.memory_dir))
    except DamagedError:
        return Profile(losses={"machine_readings_damaged": 1})


def _image_of(path: Path, run: RunFiles) -> Image:
    image = Image.of_file(path)
    if not image.header.flags & HeaderFlag.RECORDING:
        return image
    writer = image.writer
    process = run.manifest.owner.beside(writer.pid, writer.start)
    replaced = path.with_name(f"{writer._replace(incarnation=writer.incarnation + 1)}.tt").exists()
    # A process looks at its clock when it ends a call, at times minutes apart; a dead one never will again, nor one
    # that runs another program now. When the run's first process died, its supervisor knows.
    if not replaced and process.is_alive():
        image.go_on_to(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    elif not replaced and not image.parent.pid:
        image.go_on_to(run.manifest.program_ended_ns)
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
    joining = Joining(run_id)
    joining.errors.extend(errors)
    with collector_paused():
        for image in images:
            joining.add(image)
        profile = joining.profile()
    errors[:] = joining.errors
    return without_blanks(profile)
