"""speedscope's own format: sampled profiles, whose weights are the sections' own times."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ticktree.outputs.headline import losses, title
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.stacks import Frame, Stack, stacks
from ticktree.profile import Profile

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

# Its page shows samples in their order on an axis of time. Totals have no order in time: the name says so.
_ORDER = "totals, in no order of time"


def render(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - a program reads all or nothing
    """Return the run, and what ran beside it if anything did, as one JSON document."""
    every = list(stacks(profile))
    frames = _Frames()
    profiles = [_profile(f"the run: {_ORDER}", (one for one in every if not one.beside), frames)]
    if any(one.beside for one in every):
        beside = (one for one in every if one.beside)
        profiles.append(
            _profile(f"beside it, in other threads, processes and tasks: {_ORDER}", beside, frames)
        )
    document = {
        "$schema": SCHEMA,
        "name": ", ".join([title(profile), *losses(profile)]),
        "exporter": "ticktree",
        "activeProfileIndex": 0,
        "shared": {"frames": frames.listed},
        "profiles": profiles,
    }
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _profile(name: str, below: Iterable[Stack], frames: _Frames) -> dict[str, Any]:
    taken = [stack for stack in below if stack.node.own_ns > 0]
    weights = [stack.node.own_ns for stack in taken]
    return {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [[frames.place(frame) for frame in stack.frames] for stack in taken],
        "weights": weights,
    }


class _Frames:
    """The list of all frames, each once, that samples point into."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []
        self._places: dict[tuple[tuple[str, Any], ...], int] = {}

    def place(self, frame: Frame) -> int:
        """Return where `frame` stands in the list."""
        fields: dict[str, Any] = {"name": f"{frame.name} (partly beside)" if frame.partly else frame.name}
        site = frame.node.call_site
        if site is not None:
            fields |= {"file": site.file, "line": site.line}
        key = tuple(fields.items())
        if key not in self._places:
            self._places[key] = len(self.listed)
            self.listed.append(fields)
        return self._places[key]
