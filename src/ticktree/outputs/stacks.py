"""Stacks: the tree in the formats of sampling profilers, with each node's self time below all its callers.

Readers of these formats sum what is below a frame to get its width. So each nanosecond is in one stack only, and a
node that ran concurrently with its parent is not below it: the parent would look as long as both together. If stack
samples show the functions of a node's self time, the time is below these functions.

Collapsed stacks have one line per section, for every tool that draws flame graphs. pprof has one sample per section:
its calls, and its self time as `wall`, or as `concurrent` where it ran concurrently with its parent; readers sum one
type of value at a time, so nothing counts twice. speedscope has the totals as sampled profiles, and the calls of a
timeline as evented ones: begins and ends, one profile per track.
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
from ticktree.outputs.tracks import Track, tracks_of
from ticktree.outputs.view.headline import headline, losses, title
from ticktree.outputs.writing.visible import literal
from ticktree.profile import CallSite, CodeLine, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Frame:
    """A section in a stack, or a function that stack samples contain in a section's self time.

    Attributes:
        name: as the program chose it, and its clock where that is not the host's.
        site: the section's call site, or the line that the function was at; None if unknown.
        is_partly_concurrent: whether some of its time, at most half, was concurrent with its parent.
        is_sampled: whether it is a function.
    """

    name: str
    site: CallSite | None = None
    is_partly_concurrent: bool = False
    is_sampled: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """A node with all its ancestors, or functions that stack samples contain in its self time.

    Attributes:
        frames: from the root to the node, and then to the innermost function of the samples.
        is_concurrent: whether the node, or one of its ancestors, ran for more than half of its time concurrently with
            its parent: in another thread, process or task.
        ns: the node's self time if it has no samples; otherwise the part of it that was sampled here.
        calls: completed calls of the node; 0 for samples.
    """

    frames: tuple[Frame, ...]
    is_concurrent: bool
    ns: int
    calls: int


def stacks(profile: Profile) -> Iterator[Stack]:
    """Yield every node's stack, then those of its samples; parents before their children, and these by name.

    Their times sum to all time in the profile, each nanosecond once. The times of stacks that are not concurrent sum
    to the run's length if none of their frames is partly concurrent and no concurrent one covered part of its
    parent.
    """
    sampled = sampled_times(profile)
    root = profile.root
    to_visit: list[tuple[Node, str, tuple[Frame, ...], bool]] = [
        (root, paths.ROOT, (Frame(root.name, root.call_site),), False)
    ]
    while to_visit:
        node, path, frames, is_concurrent = to_visit.pop()
        time = sampled.get(path)
        yield Stack(frames, is_concurrent, 0 if time else node.self_ns, node.count)
        if time is not None:
            for lines, ns in _sampled_stacks(time).items():
                yield Stack((*frames, *map(_function_frame, lines)), is_concurrent, ns, 0)
        for name in sorted(node.children, reverse=True):
            child = node.children[name]
            # A subtree is never split: how much of it was concurrent is known for the subtree as a whole only.
            is_mostly = 2 * abs(child.concurrent_ns) > child.total_ns
            is_partly = child.concurrent_ns != 0 and not is_mostly
            frame = Frame(child.key, child.call_site, is_partly_concurrent=is_partly)
            to_visit.append((child, paths.child(path, name), (*frames, frame), is_concurrent or is_mostly))


def _sampled_stacks(time: SampledTime) -> dict[tuple[CodeLine, ...], int]:
    """Return the time of each stack, summed over its thread's states, in their order."""
    ns_by_lines: dict[tuple[CodeLine, ...], int] = defaultdict(int)
    for stack, ns in time.parts().items():
        ns_by_lines[lines_of(stack)] += ns
    return ns_by_lines


def _function_frame(line: CodeLine) -> Frame:
    site = CallSite(line.file, line.line, line.function) if line.file else None
    return Frame(line.function, site, is_sampled=True)


# A second root: what ran concurrently has its own widths, and adds nothing to those of the run.
CONCURRENT = "concurrent"
# A reader would take a number at a name's end for the weight, and the weight for that of a second run.
_NUMBER_AT_END = re.compile(r" (?=\d+(\.\d*)?$)")


def render_collapsed(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - the format has no options
    """Return one line per section, in UTF-8: the names from the root to it, then its self time in nanoseconds.

    If stack samples show the functions of the self time, the line also has the functions' names.
    """
    lines = []
    for stack in stacks(profile):
        if stack.ns > 0:
            root = CONCURRENT if stack.is_concurrent else stack.frames[0].name
            lines.append(f"{';'.join([root, *map(_collapsed_name, stack.frames[1:])])} {stack.ns}\n")
    return "".join(lines).encode()


def _collapsed_name(frame: Frame) -> str:
    if frame.is_sampled:
        location = f" ({frame.site.file}:{frame.site.line})" if frame.site else ""
        return f"{_escaped(frame.name + location)} [sampled]"
    mark = " [partly concurrent]" if frame.is_partly_concurrent else ""
    # The no-break space looks the same, and no other name contains one: `literal` escapes it.
    return _NUMBER_AT_END.sub("\u00a0", _escaped(frame.name)) + mark


def _escaped(name: str) -> str:
    return literal(name).replace(";", "\\x3b")


# Field numbers of profile.proto.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING_TABLE = 1, 2, 4, 5, 6
_DURATION_NANOS, _COMMENT, _DEFAULT_SAMPLE_TYPE = 10, 13, 14
_SAMPLE_TYPES = (("calls", "count"), ("concurrent", "nanoseconds"), ("wall", "nanoseconds"))


def render_pprof(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile as a gzipped message, the same bytes each time."""
    tables = _Tables()
    types = [pb.message(_SAMPLE_TYPE, tables.pair(*pair)) for pair in _SAMPLE_TYPES]
    samples = [_pprof_sample(tables, stack) for stack in stacks(profile) if stack.ns > 0 or stack.calls > 0]
    comments = [title(profile), *headline(Context(profile), options), *losses(profile)]
    tail = [
        pb.integer(_DURATION_NANOS, profile.root.total_ns),
        pb.integers(_COMMENT, [tables.string(comment) for comment in comments]),
        pb.integer(_DEFAULT_SAMPLE_TYPE, tables.string("wall")),
    ]
    # The strings come last: all other parts add to them.
    parts = [*types, *samples, *tables.locations, *tables.functions, *tail, *tables.strings()]
    return gzip.compress(b"".join(parts), mtime=0)


def _pprof_sample(tables: _Tables, stack: Stack) -> bytes:
    values = (stack.calls, stack.ns if stack.is_concurrent else 0, 0 if stack.is_concurrent else stack.ns)
    # pprof wants the innermost frame first.
    content = pb.integers(1, [tables.location(frame) for frame in reversed(stack.frames)])
    content += pb.integers(2, values)
    if any(frame.is_partly_concurrent for frame in stack.frames):
        content += pb.message(3, tables.pair("partly", "concurrent"))
    return pb.message(_SAMPLE, content)


class _Tables:
    def __init__(self) -> None:
        self.locations: list[bytes] = []
        self.functions: list[bytes] = []
        self._strings = {"": 0}
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[tuple[int, int], int] = {}

    def string(self, text: str) -> int:
        """Return the number of a string, from 0; that of "" is 0."""
        return self._strings.setdefault(text, len(self._strings))

    def pair(self, first: str, second: str) -> bytes:
        """Return a message of two strings: a type and its unit, or a label and its value."""
        return pb.integer(1, self.string(first)) + pb.integer(2, self.string(second))

    def strings(self) -> list[bytes]:
        """Return the table of strings, the empty one included."""
        return [pb.text(_STRING_TABLE, text) or pb.message(_STRING_TABLE, b"") for text in self._strings]

    def location(self, frame: Frame) -> int:
        """Return the number, from 1, of a section's call site, or of a line of a function."""
        site = frame.site
        name = f"{frame.name} [sampled]" if frame.is_sampled else frame.name
        function = self._function(name, site.file if site else "")
        key = (function, site.line if site else 0)
        if key not in self._locations:
            self._locations[key] = number = len(self._locations) + 1
            line = pb.integer(1, function) + pb.integer(2, key[1])
            self.locations.append(pb.message(_LOCATION, pb.integer(1, number) + pb.message(4, line)))
        return self._locations[key]

    def _function(self, name: str, file: str) -> int:
        if (name, file) not in self._functions:
            self._functions[name, file] = number = len(self._functions) + 1
            # pprof takes a function with an empty name for an unknown one, and shows its address.
            words = self.string(name or "\\e")
            content = pb.integer(1, number) + pb.integer(2, words) + pb.integer(3, words)
            self.functions.append(pb.message(_FUNCTION, content + pb.integer(4, self.string(file))))
        return self._functions[name, file]


SCHEMA = "https://www.speedscope.app/file-format-schema.json"

# speedscope shows samples in their order on a time axis. Totals have no order in time: the name says so.
_ORDER = "totals, in no order of time"


def render_speedscope(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return one JSON document: the run's totals, its concurrent time if it has any, and its calls one by one."""
    frames = _Frames()
    profiles = [] if options.only == "calls" else list(_totals(profile, frames))
    if timeline is not None:
        profiles += _calls(profile, timeline, frames)
    document = {
        "$schema": SCHEMA,
        "name": ", ".join([title(profile), *losses(profile)]),
        "exporter": "ticktree",
        "activeProfileIndex": 0,
        "shared": {"frames": frames.fields},
    }
    # With a timeline, the profiles are most of the document: each is text already.
    return f'{_text(document)[:-1]},"profiles":[{",".join(profiles)}]}}\n'.encode()


def _totals(profile: Profile, frames: _Frames) -> Iterator[str]:
    all_stacks = list(stacks(profile))
    sequential = [stack for stack in all_stacks if not stack.is_concurrent]
    yield _sampled_profile(f"the run: {_ORDER}", sequential, frames)
    concurrent = [stack for stack in all_stacks if stack.is_concurrent]
    if concurrent:
        name = f"concurrent, in other threads, processes and tasks: {_ORDER}"
        yield _sampled_profile(name, concurrent, frames)


def _sampled_profile(name: str, group: Iterable[Stack], frames: _Frames) -> str:
    timed_stacks = [stack for stack in group if stack.ns > 0]
    weights = [stack.ns for stack in timed_stacks]
    samples = [
        [frames.number(_speedscope_name(frame), frame.site) for frame in stack.frames]
        for stack in timed_stacks
    ]
    head = _head("sampled", name, 0, sum(weights))
    return _text({**head, "samples": samples, "weights": weights})


def _speedscope_name(frame: Frame) -> str:
    mark = " (partly concurrent)" if frame.is_partly_concurrent else ""
    return frame.name + (" [sampled]" if frame.is_sampled else mark)


def _head(kind: str, name: str, begin: int, end: int) -> dict[str, Any]:
    return {"type": kind, "name": name, "unit": "nanoseconds", "startValue": begin, "endValue": end}


def _calls(profile: Profile, timeline: Timeline, frames: _Frames) -> Iterator[str]:
    """Yield one profile per track. All have the same begin and end, so that their time axes are the same."""
    if not len(timeline):
        return
    begin, end = int(timeline.start_ns[0]), int(timeline.end_ns.max())
    has_processes = len({lane.process for lane in timeline.lanes}) > 1
    numbers = []
    for called in timeline.nodes:
        node = profile.root.find(called.path)
        numbers.append(frames.number(called.label, None if node is None else node.call_site))
    for track in tracks_of(timeline):
        process = f"{track.lane.process_title} {track.lane.pid}, " if has_processes else ""
        head = _head("evented", f"{process}{track.name}: calls one by one", begin, end)
        yield f'{_text(head)[:-1]},"events":[{",".join(_events(timeline, track, numbers))}]}}'


def _events(timeline: Timeline, track: Track, numbers: list[int]) -> Iterator[str]:
    count = len(track.calls)
    call = np.where(track.order < count, track.order, track.order - count)
    moments = np.concatenate((timeline.start_ns[track.calls], timeline.end_ns[track.calls]))[track.order]
    frame = np.array(numbers, np.int64)[timeline.node[track.calls]][call]
    kinds = np.where(track.order < count, "O", "C")
    for kind, number, moment in zip(kinds.tolist(), frame.tolist(), moments.tolist(), strict=True):
        yield f'{{"type":"{kind}","frame":{number},"at":{moment}}}'


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class _Frames:
    """The list of all frames, each once, which samples and events refer to by number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[tuple[str, Any], ...], int] = {}

    @property
    def fields(self) -> list[dict[str, Any]]:
        return [dict(frame) for frame in self._numbers]

    def number(self, name: str, site: CallSite | None) -> int:
        """Return the number of a frame in the list."""
        line = () if site is None else (("file", site.file), ("line", site.line))
        return self._numbers.setdefault((("name", name), *line), len(self._numbers))
