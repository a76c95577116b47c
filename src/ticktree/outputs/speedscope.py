"""speedscope's own format: totals as sampled profiles, and the calls of a timeline as evented ones.

A sample's weight is a section's own time. Events are begins and ends of calls, a profile a track.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.stacks import Stack, stacks
from ticktree.outputs.shapes.tracks import Track, tracks_of
from ticktree.outputs.view.headline import losses, title
from ticktree.profile import Node, Profile
from ticktree.profile.timeline import Timeline

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

# Its page shows samples in their order on an axis of time. Totals have no order in time: the name says so.
_ORDER = "totals, in no order of time"


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return the run's totals, what ran beside it if anything did, and its calls one by one, as one JSON document."""
    frames = _Frames()
    profiles = [] if options.only == "calls" else list(_totals(profile, frames))
    if timeline is not None:
        profiles += _calls(profile, timeline, frames)
    document = {
        "$schema": SCHEMA,
        "name": ", ".join([title(profile), *losses(profile)]),
        "exporter": "ticktree",
        "activeProfileIndex": 0,
        "shared": {"frames": frames.listed},
    }
    # Of a timeline, the profiles are most of it: each is text already.
    return f'{_text(document)[:-1]},"profiles":[{",".join(profiles)}]}}\n'.encode()


def _totals(profile: Profile, frames: _Frames) -> Iterator[str]:
    every = list(stacks(profile))
    yield _sampled(f"the run: {_ORDER}", (one for one in every if not one.beside), frames)
    if any(one.beside for one in every):
        beside = (one for one in every if one.beside)
        yield _sampled(f"beside it, in other threads, processes and tasks: {_ORDER}", beside, frames)


def _sampled(name: str, below: Iterable[Stack], frames: _Frames) -> str:
    taken = [stack for stack in below if stack.node.self_ns > 0]
    weights = [stack.node.self_ns for stack in taken]
    return _text(
        {
            "type": "sampled",
            "name": name,
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": sum(weights),
            "samples": [
                [
                    frames.place(f"{frame.name} (partly beside)" if frame.partly else frame.name, frame.node)
                    for frame in stack.frames
                ]
                for stack in taken
            ],
            "weights": weights,
        }
    )


def _calls(profile: Profile, timeline: Timeline, frames: _Frames) -> Iterator[str]:
    """Yield a profile a track. All begin and end together, so that a place on one axis is the same on each."""
    if not len(timeline):
        return
    begin, end = int(timeline.start_ns[0]), int(timeline.end_ns.max())
    several = len({lane.process for lane in timeline.lanes}) > 1
    places = [frames.place(spot.label, profile.root.find(spot.path)) for spot in timeline.spots]
    for track in tracks_of(timeline):
        process = f"{track.lane.process_title} {track.lane.pid}, " if several else ""
        head = {
            "type": "evented",
            "name": f"{process}{track.name}: calls one by one",
            "unit": "nanoseconds",
            "startValue": begin,
            "endValue": end,
        }
        yield f'{_text(head)[:-1]},"events":[{",".join(_events(timeline, track, places))}]}}'


def _events(timeline: Timeline, track: Track, places: list[int]) -> Iterator[str]:
    count = len(track.calls)
    call = np.where(track.order < count, track.order, track.order - count)
    moments = np.concatenate((timeline.start_ns[track.calls], timeline.end_ns[track.calls]))[track.order]
    frame = np.array(places, np.int64)[timeline.spot[track.calls]][call]
    kinds = np.where(track.order < count, "O", "C")
    for kind, place, moment in zip(kinds.tolist(), frame.tolist(), moments.tolist(), strict=True):
        yield f'{{"type":"{kind}","frame":{place},"at":{moment}}}'


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class _Frames:
    """The list of all frames, each once, that samples and events point into."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []
        self._places: dict[tuple[tuple[str, Any], ...], int] = {}

    def place(self, name: str, node: Node | None) -> int:
        """Return where the frame of a node stands in the list."""
        fields: dict[str, Any] = {"name": name}
        site = None if node is None else node.call_site
        if site is not None:
            fields |= {"file": site.file, "line": site.line}
        key = tuple(fields.items())
        if key not in self._places:
            self._places[key] = len(self.listed)
            self.listed.append(fields)
        return self._places[key]
