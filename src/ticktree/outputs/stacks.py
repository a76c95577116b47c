"""Stacks: the tree as the formats of sampling profilers have it, each node's self time under all its callers.

Their readers add up what is below a frame to get its width, so each nanosecond may stand in one stack only, and what
ran beside its parent may not stand below it: there the parent would look as long as both together. Where samples tell
what a node's self time consists of, it stands below the calls that they saw.

Collapsed stacks are a line per section, for every tool that draws flame graphs. pprof has every section at its place
as a sample: what its calls were, and its self time as `wall`, or as `beside` where it ran beside what is around it;
readers add up one kind of value at a time, so nothing counts twice. speedscope has totals as sampled profiles, and
the calls of a timeline as evented ones: begins and ends, a profile per track.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ticktree.analysis.context import Context
from ticktree.analysis.sampled import SampledTime, lines_of, sampled_times
from ticktree.outputs import protobuf as pb
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.traces import Track, tracks_of
from ticktree.outputs.view.headline import headline, losses, title
from ticktree.outputs.writing.visible import literal
from ticktree.profile import CallSite, CodeLine, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Frame:
    """A section in a stack, or a function that samples saw in a section's self time.

    Attributes:
        name: as the program chose it, and its clock where that is not the host's.
        site: where it is entered; of a function the line that it was at. None where that is not known.
        partly: whether some of its time, at most half, ran beside its parent though it stands below it.
        is_sampled: whether it is a function.
    """

    name: str
    site: CallSite | None = None
    partly: bool = False
    is_sampled: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """A node with all that is around it, or what samples saw in its self time.

    Attributes:
        frames: from the root to the node, and on to the innermost function that samples saw.
        beside: whether the node, or one around it, ran for more than half of its time beside what is around it: in
            another thread, process or task.
        ns: the node's self time, as far as no samples tell what it was; or the part of it that was sampled here.
        calls: completed calls of the node; of samples none.
    """

    frames: tuple[Frame, ...]
    beside: bool
    ns: int
    calls: int


def stacks(profile: Profile) -> Iterator[Stack]:
    """Yield every node's stack, then those of its samples; parents before their children and these by name.

    Their times together are all there is in the profile, each nanosecond once. Those of stacks that are not
    `beside` are the run's length, as far as none of their frames is `partly` beside and none of the others covered
    part of what is around it.
    """
    sampled = sampled_times(profile)
    root = profile.root
    waiting: list[tuple[Node, str, tuple[Frame, ...], bool]] = [
        (root, paths.ROOT, (Frame(root.name, root.call_site),), False)
    ]
    while waiting:
        node, path, frames, beside = waiting.pop()
        time = sampled.get(path)
        yield Stack(frames, beside, 0 if time else node.self_ns, node.count)
        if time is not None:
            for below, ns in _sampled(time).items():
                yield Stack((*frames, *map(_function, below)), beside, ns, 0)
        for name in sorted(node.children, reverse=True):
            child = node.children[name]
            frame, is_beside = _under(child)
            waiting.append((child, paths.child(path, name), (*frames, frame), beside or is_beside))


def _under(child: Node) -> tuple[Frame, bool]:
    # A subtree is never torn apart: what of it ran at the same time as what else is known of it as a whole only.
    mostly = 2 * abs(child.concurrent_ns) > child.total_ns
    return Frame(child.key, child.call_site, partly=child.concurrent_ns != 0 and not mostly), mostly


def _sampled(time: SampledTime) -> dict[tuple[CodeLine, ...], int]:
    """Return the time of each stack, whatever state its thread was in, in their order."""
    found: dict[tuple[CodeLine, ...], int] = defaultdict(int)
    for stack, ns in time.parts().items():
        found[lines_of(stack)] += ns
    return found


def _function(at: CodeLine) -> Frame:
    site = CallSite(at.file, at.line, at.function) if at.file else None
    return Frame(at.function, site, is_sampled=True)


# A second root: what ran beside has its own widths, and adds nothing to those of the run.
BESIDE = "beside"
# A number at a name's end would be the weight, and the weight that of a second run to compare with.
_NUMBER_AT_END = re.compile(r" (?=\d+(\.\d*)?$)")


def render_collapsed(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - a program reads all or nothing
    """Return each section's self time in nanoseconds, behind the names from the root to it, as lines in UTF-8.

    Where samples tell what it consists of, it stands behind the functions that they saw.
    """
    return "".join(_line(stack) for stack in stacks(profile) if stack.ns > 0).encode()


def _line(stack: Stack) -> str:
    root = BESIDE if stack.beside else stack.frames[0].name
    return f"{';'.join([root, *map(_collapsed_name, stack.frames[1:])])} {stack.ns}\n"


def _collapsed_name(frame: Frame) -> str:
    if frame.is_sampled:
        at = f" ({frame.site.file}:{frame.site.line})" if frame.site else ""
        return f"{_escaped(frame.name + at)} [sampled]"
    mark = " [partly beside]" if frame.partly else ""
    # The unbreakable space looks the same, and is no other name's: of those it is escaped.
    return _NUMBER_AT_END.sub("\u00a0", _escaped(frame.name)) + mark


def _escaped(name: str) -> str:
    return literal(name).replace(";", "\\x3b")


# Field numbers of profile.proto.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING_TABLE = 1, 2, 4, 5, 6
_DURATION_NANOS, _COMMENT, _DEFAULT_SAMPLE_TYPE = 10, 13, 14
_SAMPLE_TYPES = (("calls", "count"), ("beside", "nanoseconds"), ("wall", "nanoseconds"))


def render_pprof(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile as a gzipped message, the same bytes each time."""
    tables = _Tables()
    types = [_value_type(tables, *pair) for pair in _SAMPLE_TYPES]
    samples = [_pprof_sample(tables, stack) for stack in stacks(profile) if _has_any(stack)]
    comments = [title(profile), *headline(Context(profile), options), *losses(profile)]
    tail = [
        pb.integer(_DURATION_NANOS, profile.root.total_ns),
        pb.integers(_COMMENT, [tables.string(comment) for comment in comments]),
        pb.integer(_DEFAULT_SAMPLE_TYPE, tables.string("wall")),
    ]
    # The strings last: all of the others put theirs among them.
    parts = [*types, *samples, *tables.locations, *tables.functions, *tail, *tables.strings()]
    return gzip.compress(b"".join(parts), mtime=0)


def _has_any(stack: Stack) -> bool:
    return stack.ns > 0 or stack.calls > 0


def _value_type(tables: _Tables, kind: str, unit: str) -> bytes:
    pair = pb.integer(1, tables.string(kind)) + pb.integer(2, tables.string(unit))
    return pb.message(_SAMPLE_TYPE, pair)


def _pprof_sample(tables: _Tables, stack: Stack) -> bytes:
    values = (stack.calls, stack.ns if stack.beside else 0, 0 if stack.beside else stack.ns)
    # The innermost first, unlike everywhere else.
    content = pb.integers(1, [tables.location(frame) for frame in reversed(stack.frames)])
    content += pb.integers(2, values)
    if any(frame.partly for frame in stack.frames):
        content += pb.message(
            3, pb.integer(1, tables.string("partly")) + pb.integer(2, tables.string("beside"))
        )
    return pb.message(_SAMPLE, content)


class _Tables:
    """The lists that a profile's messages point into by number."""

    def __init__(self) -> None:
        self.locations: list[bytes] = []
        self.functions: list[bytes] = []
        self._strings = {"": 0}
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[tuple[int, int], int] = {}

    def string(self, words: str) -> int:
        """Return the number of a string, from 0; that of "" is 0."""
        return self._strings.setdefault(words, len(self._strings))

    def strings(self) -> list[bytes]:
        """Return the table of strings, in which the empty one is not left out."""
        return [pb.text(_STRING_TABLE, words) or pb.message(_STRING_TABLE, b"") for words in self._strings]

    def location(self, frame: Frame) -> int:
        """Return the number, from 1, of the place where a section is entered, or of a line of a function."""
        site = frame.site
        function = self._function(
            f"{frame.name} [sampled]" if frame.is_sampled else frame.name, site.file if site else ""
        )
        key = (function, site.line if site else 0)
        if key not in self._locations:
            self._locations[key] = number = len(self._locations) + 1
            line = pb.integer(1, function) + pb.integer(2, key[1])
            self.locations.append(pb.message(_LOCATION, pb.integer(1, number) + pb.message(4, line)))
        return self._locations[key]

    def _function(self, name: str, file: str) -> int:
        if (name, file) not in self._functions:
            self._functions[name, file] = number = len(self._functions) + 1
            # A function without a name is one that pprof does not know, which it shows as its address.
            words = self.string(name or "\\e")
            content = pb.integer(1, number) + pb.integer(2, words) + pb.integer(3, words)
            self.functions.append(pb.message(_FUNCTION, content + pb.integer(4, self.string(file))))
        return self._functions[name, file]


SCHEMA = "https://www.speedscope.app/file-format-schema.json"

# Its page shows samples in their order on an axis of time. Totals have no order in time: the name says so.
_ORDER = "totals, in no order of time"


def render_speedscope(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
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
    yield _sampled_profile(f"the run: {_ORDER}", (one for one in every if not one.beside), frames)
    if any(one.beside for one in every):
        beside = (one for one in every if one.beside)
        yield _sampled_profile(f"beside it, in other threads, processes and tasks: {_ORDER}", beside, frames)


def _sampled_profile(name: str, below: Iterable[Stack], frames: _Frames) -> str:
    taken = [stack for stack in below if stack.ns > 0]
    weights = [stack.ns for stack in taken]
    return _text(
        {
            "type": "sampled",
            "name": name,
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": sum(weights),
            "samples": [
                [frames.place(frame.name + _mark(frame), frame.site) for frame in stack.frames]
                for stack in taken
            ],
            "weights": weights,
        }
    )


def _mark(frame: Frame) -> str:
    return " [sampled]" if frame.is_sampled else " (partly beside)" if frame.partly else ""


def _calls(profile: Profile, timeline: Timeline, frames: _Frames) -> Iterator[str]:
    """Yield a profile a track. All begin and end together, so that a place on one axis is the same on each."""
    if not len(timeline):
        return
    begin, end = int(timeline.start_ns[0]), int(timeline.end_ns.max())
    several = len({lane.process for lane in timeline.lanes}) > 1
    nodes = [profile.root.find(spot.path) for spot in timeline.spots]
    places = [
        frames.place(spot.label, None if node is None else node.call_site)
        for spot, node in zip(timeline.spots, nodes, strict=True)
    ]
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

    def place(self, name: str, site: CallSite | None) -> int:
        """Return where a frame stands in the list."""
        fields: dict[str, Any] = {"name": name}
        if site is not None:
            fields |= {"file": site.file, "line": site.line}
        key = tuple(fields.items())
        if key not in self._places:
            self._places[key] = len(self.listed)
            self.listed.append(fields)
        return self._places[key]
