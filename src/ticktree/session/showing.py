"""What ticktree prints in the recorded program about its recording."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ticktree.display import DRAWN_BY
from ticktree.errors import one_line
from ticktree.recorder.later import poll

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.profile.timeline import Timeline
    from ticktree.recorder import Recorder


def profile_of(recorder: Recorder, run_id: str) -> Profile:
    """What a recorder holds at this moment, as a profile."""
    poll()
    data = recorder.image()  # first: what is imported below is not the program's time
    from ticktree.profile import Profile
    from ticktree.run.reading.image import Image
    from ticktree.run.reading.reader import read_images

    if not data:
        return Profile.empty()
    errors: list[Any] = []
    return read_images([Image(data)], run_id, errors)


def new_id(kind: str) -> str:
    """What the recording of one recorder without a run is called: unlike every other's, so that profiles merge."""
    return f"{kind}-{os.urandom(6).hex()}"


def timeline_of(recorder: Recorder) -> Timeline | None:
    """The calls that a recorder keeps one by one; None where it keeps none."""
    data = recorder.image()
    from ticktree.run.timeline import timeline_of_image

    return timeline_of_image(data) if data else None


def print_profile(profile: Profile) -> None:
    """Prints the tree to standard error."""
    from ticktree.outputs import print_summary

    print_summary(profile, sys.stderr)


def _html(profile: Profile) -> str:
    from ticktree.outputs.notebook import html

    return html(profile)


def _text(profile: Profile) -> str:
    from ticktree.outputs.notebook import text

    return text(profile)


# A notebook shows a profile wherever it comes from; what draws it is imported when there is something to draw.
DRAWN_BY.update({"html": _html, "text": _text})


def say(text: str) -> None:
    """Prints one line that the program's author must know; without a standard error it prints nothing."""
    if sys.stderr is not None:  # else it would go to standard output
        with suppress(OSError, ValueError):
            print(f"ticktree: {one_line(text)}", file=sys.stderr)
