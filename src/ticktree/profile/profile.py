"""Profile: the model of a run, or of several merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ticktree.profile import critical
from ticktree.profile import metadata as meta
from ticktree.profile.critical import CriticalPlace
from ticktree.profile.errors import ProfileError, quoted
from ticktree.profile.gauge import Gauge
from ticktree.profile.loop import Loop
from ticktree.profile.merging import sums, union
from ticktree.profile.metadata import Metadata
from ticktree.profile.node import MAX_DEPTH, Node
from ticktree.profile.summing import sum_of_trees, sums_of, union_of
from ticktree.profile.writer import Writer

ROOT_NAME = "root"


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything that is known of a run. Merges field by field; `Profile.empty()` is the identity.

    Attributes:
        root: the tree; its root is named "root" and has the path "". Merges by adding.
        loops: by path. Merges by path.
        gauges: by name. Merges by name.
        metadata: a set of values a key. Merges by union.
        losses: counts of what could not be recorded, by a short English phrase in snake_case that can follow
            the count ("3 nodes_over_cap"). Merges by adding.
        writers: the threads of the run's processes, by id. Merges by id; empty where not known.
        critical: nanoseconds of each place on the critical path: which sections, on which writer, set the run's
            length. Merges by adding; empty where nothing was signalled between writers.
        timeline_calls: how many calls were recorded one by one in a timeline, whether or not they are still kept
            there. Merges by adding.
    """

    root: Node = field(default_factory=lambda: Node(name=ROOT_NAME))
    loops: Mapping[str, Loop] = field(default_factory=dict)
    gauges: Mapping[str, Gauge] = field(default_factory=dict)
    metadata: Metadata = field(default_factory=dict)
    losses: Mapping[str, int] = field(default_factory=dict)
    writers: Mapping[str, Writer] = field(default_factory=dict)
    critical: Mapping[CriticalPlace, int] = field(default_factory=dict)
    timeline_calls: int = 0

    @classmethod
    def empty(cls) -> Profile:
        """Return the profile of nothing."""
        return cls()

    def __add__(self, other: Profile) -> Profile:
        return Profile(
            root=self.root + other.root,
            loops=union(self.loops, other.loops),
            gauges=union(self.gauges, other.gauges),
            metadata=meta.merged(self.metadata, other.metadata),
            losses=sums(self.losses, other.losses),
            writers=union(self.writers, other.writers),
            critical=sums(self.critical, other.critical),
            timeline_calls=self.timeline_calls + other.timeline_calls,
        )

    def merge(self, *others: Profile) -> Profile:
        """Return this profile and `others` as one, whatever their order; the same as adding them one by one."""
        every = (self, *others)
        return Profile(
            root=sum_of_trees([each.root for each in every]),
            loops=union_of(each.loops for each in every),
            gauges=union_of(each.gauges for each in every),
            metadata=meta.merged(*(each.metadata for each in every)),
            losses=sums_of(each.losses for each in every),
            writers=union_of(each.writers for each in every),
            critical=sums_of(each.critical for each in every),
            timeline_calls=sum(each.timeline_calls for each in every),
        )

    def check(self) -> None:
        """Assert what holds for every profile.

        Raises:
            ProfileError: a rule is broken; it names the part and the rule.
        """
        for problem in self._problems():
            raise ProfileError(problem)

    def to_dict(self, findings: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """Return the profile as `report --format json` gives it, with `findings` added.

        The profile has none of its own: advice is about a profile, not part of it.
        """
        from ticktree.profile import codec  # imports this module

        fields = codec.to_dict(self)
        tree = fields.pop("tree")  # stays last: it is written piece by piece
        return {**fields, "findings": [dict(finding) for finding in findings], "tree": tree}

    def to_json(self) -> str:
        """Return the profile as JSON; equal profiles give the same text."""
        from ticktree.profile import codec

        return codec.to_text(codec.to_dict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Profile:
        """Return the profile that `to_json` wrote as `text`; findings and fields not known are ignored.

        Raises:
            ProfileError: `text` is not a profile, is of a version not known here, or says what cannot be.
        """
        from ticktree.profile import codec

        profile = codec.from_text(text)
        profile.check()
        return profile

    def _problems(self) -> Iterator[str]:
        yield from meta.problems(self.metadata)
        if any(count < 0 for count in self.losses.values()):
            yield "a loss is negative"
        if self.timeline_calls < 0:
            yield "a timeline has fewer than no calls"
        if self.root.name != ROOT_NAME:
            yield f"the root is named {quoted(self.root.name)}"
        known: set[str] = set()
        for path, depth, node in self.root.walk():
            if depth > MAX_DEPTH:
                yield f"the tree is more than {MAX_DEPTH} nodes deep"
            known.add(path)
            yield from (f"node {quoted(path)}: {rule}" for rule in node.problems())
        yield from self._problems_of_writers(known)
        for path, loop in self.loops.items():
            if path != loop.path or path not in known:
                yield f"loop {quoted(path)}: there is no such node"
            yield from (f"loop {quoted(path)}: {rule}" for rule in loop.problems())
        for name, gauge in self.gauges.items():
            if name != gauge.name:
                yield f"gauge {quoted(name)}: filed under another name than its own"
            yield from (f"gauge {quoted(name)}: {rule}" for rule in gauge.problems())

    def _problems_of_writers(self, known: set[str]) -> Iterator[str]:
        """Yield what is wrong with who did what; `known` are the paths of the tree."""
        for key, writer in self.writers.items():
            if key != writer.id or writer.parent not in known:
                yield f"writer {quoted(key)}: filed under another id, or its parent is no node"
            yield from (f"writer {quoted(key)}: {rule}" for rule in writer.problems())
        yield from critical.problems(self.critical)
        named = set(self.critical)
        for path, _, node in self.root.walk():
            if not node.by_writer.keys() <= self.writers.keys():
                yield f"node {quoted(path)}: one of its writers is not known"
            for waker in node.wakers:
                named |= {CriticalPlace(waker.writer, path), CriticalPlace(waker.by, waker.path)}
        for place in named:
            if place.writer not in self.writers or place.path not in known:
                yield f"there is no writer {quoted(place.writer)} or no node {quoted(place.path)} to wake or wait for"
