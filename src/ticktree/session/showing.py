"""Profiles of a recorder, and what ticktree prints in the recorded program."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ticktree.display import RENDERERS
from ticktree.errors import one_line
from ticktree.recorder.pending_device_time import poll

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.profile.timeline import Timeline
    from ticktree.recorder import Recorder


def profile_of(recorder: Recorder, run_id: str) -> Profile:
    """Return the profile of what a recorder holds now."""
    poll()
    data = recorder.image()  # before the imports below, whose time is not the program's
    from ticktree.profile import Profile
    from ticktree.run.reading.image import Image
    from ticktree.run.reading.reader import read_images

    if not data:
        return Profile.empty()
    errors: list[Any] = []
    return read_images([Image(data)], run_id, errors)


def new_id(kind: str) -> str:
    """Return a unique id for the records of a recorder without a run, so that profiles merge."""
    return f"{kind}-{os.urandom(6).hex()}"


def timeline_of(recorder: Recorder) -> Timeline | None:
    """Return the calls that a recorder keeps; None if it keeps none."""
    data = recorder.image()
    from ticktree.run.timeline import timeline_of_image

    return timeline_of_image(data) if data else None


def print_profile(profile: Profile) -> None:
    """Print the tree to standard error."""
    from ticktree.outputs import print_summary

    print_summary(profile, sys.stderr)


def _html(profile: Profile) -> str:
    from ticktree.outputs.notebook import html

    return html(profile)


def _text(profile: Profile) -> str:
    from ticktree.outputs.notebook import text

    return text(profile)


# A notebook shows any profile; the modules that draw it are imported when there is one.
RENDERERS.update({"html": _html, "text": _text})


def print_line(text: str) -> None:
    """Print one line that the program's author must see; do nothing without a standard error."""
    if sys.stderr is not None:  # `print` would use standard output instead
        with suppress(OSError, ValueError):
            print(f"ticktree: {one_line(text)}", file=sys.stderr)
