"""pprof's profile.proto, gzipped: for `go tool pprof` and whatever else reads it.

Every section at its place is a sample: what its calls were, and its own time as `wall`, or as `beside` where it ran
beside what is around it. Readers add up one kind of value at a time, so nothing counts twice.
"""

from __future__ import annotations

import gzip

from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.stacks import Frame, Stack, stacks
from ticktree.outputs.view.headline import headline, losses, title
from ticktree.outputs.wire import protobuf as pb
from ticktree.profile import Profile

# Field numbers of profile.proto.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING_TABLE = 1, 2, 4, 5, 6
_DURATION_NANOS, _COMMENT, _DEFAULT_SAMPLE_TYPE = 10, 13, 14
_SAMPLE_TYPES = (("calls", "count"), ("beside", "nanoseconds"), ("wall", "nanoseconds"))


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile as a gzipped message, the same bytes each time."""
    tables = _Tables()
    types = [_value_type(tables, *pair) for pair in _SAMPLE_TYPES]
    samples = [_sample(tables, stack) for stack in stacks(profile) if _has_any(stack)]
    comments = [title(profile), *headline(Survey(profile), options), *losses(profile)]
    tail = [
        pb.integer(_DURATION_NANOS, profile.root.total_ns),
        pb.integers(_COMMENT, [tables.string(comment) for comment in comments]),
        pb.integer(_DEFAULT_SAMPLE_TYPE, tables.string("wall")),
    ]
    # The strings last: all of the others put theirs among them.
    parts = [*types, *samples, *tables.locations, *tables.functions, *tail, *tables.strings()]
    return gzip.compress(b"".join(parts), mtime=0)


def _has_any(stack: Stack) -> bool:
    return stack.node.self_ns > 0 or stack.node.count > 0


def _value_type(tables: _Tables, kind: str, unit: str) -> bytes:
    pair = pb.integer(1, tables.string(kind)) + pb.integer(2, tables.string(unit))
    return pb.message(_SAMPLE_TYPE, pair)


def _sample(tables: _Tables, stack: Stack) -> bytes:
    self_ns = stack.node.self_ns
    values = (stack.node.count, self_ns if stack.beside else 0, 0 if stack.beside else self_ns)
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
        """Return the number, from 1, of the place where a section is entered."""
        site = frame.node.call_site
        function = self._function(frame.name, site.file if site else "")
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
