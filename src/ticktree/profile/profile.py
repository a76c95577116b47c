"""Profile: the model of a run, or of several merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ticktree.display import RENDERERS
from ticktree.profile import codec
from ticktree.profile import metadata as meta
from ticktree.profile import profile_json as json
from ticktree.profile.fields import COUNTS, INT, Object, ProfileError, quoted
from ticktree.profile.gauge import Gauge
from ticktree.profile.loop import Loop
from ticktree.profile.metadata import Metadata
from ticktree.profile.node import MAX_DEPTH, Node
from ticktree.profile.samples import Samples
from ticktree.profile.table import (
    Mergeable,
    add,
    by_key,
    column,
    counts,
    from_object,
    merge,
    merge_parts,
    nested,
    to_object,
    value_rule,
)
from ticktree.profile.thread import CriticalNode, Thread

ROOT_NAME = "root"


@dataclass(frozen=True, slots=True)
class Profile(Mergeable):
    """All data of a run. Merges field by field; `Profile.empty()` is the identity.

    Attributes:
        root: the tree; its root is named "root" and has the path "".
        loops: by path.
        gauges: by name.
        metadata: one set of values per key.
        losses: counts of what could not be recorded, by a short English phrase in snake_case that can follow the count
            ("3 nodes_over_cap").
        threads: the threads of the run's processes, by id. Merges by id; empty if unknown.
        critical: nanoseconds of each node and thread on the critical path, which set the run's length. Merges by
            adding; empty if no thread signalled another.
        timeline_calls: how many calls a timeline recorded, whether or not it still contains them.
        samples: the code that ran during the nodes' self time; None if none were taken.
    """

    root: Node = column(merge_parts, json.TREE, key="tree", factory=lambda: Node(name=ROOT_NAME))
    loops: Mapping[str, Loop] = column(by_key, json.LOOPS, factory=dict)
    gauges: Mapping[str, Gauge] = column(by_key, json.GAUGES, factory=dict)
    metadata: Metadata = column(
        value_rule(lambda values: meta.merge_metadata(*values)), json.METADATA, factory=dict
    )
    losses: Mapping[str, int] = column(counts, COUNTS, factory=dict)
    threads: Mapping[str, Thread] = column(by_key, json.THREADS, optional=True, factory=dict)
    critical: Mapping[CriticalNode, int] = column(
        counts, json.CRITICAL, key="critical_path", optional=True, factory=dict
    )
    timeline_calls: int = column(add, INT, optional=True, default=0)
    samples: Samples | None = column(merge_parts, nested(Samples), optional=True, default=None)

    @classmethod
    def empty(cls) -> Profile:
        """Return a profile without data."""
        return cls()

    def merge(self, *others: Profile) -> Profile:
        """Return the merge of this profile and `others`; their order does not matter."""
        return merge((self, *others))

    def _repr_html_(self) -> str:
        """Return the first screen of the report, which notebooks show."""
        return RENDERERS["html"](self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - a profile does not hold itself
        """Give IPython the first screen of the report as plain text."""
        printer.text(RENDERERS["text"](self))

    def check(self) -> None:
        """Assert the rules of the model.

        Raises:
            ProfileError: a rule is broken; the message names the part and the rule.
        """
        for problem in self.problems():
            raise ProfileError(problem)

    def to_dict(self, findings: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """Return the profile as in `report --format json`, with `findings`, which are not part of a profile."""
        fields = self._json_fields()
        tree = fields.pop("tree")  # stays last: it is written piece by piece
        return {**fields, "findings": [dict(finding) for finding in findings], "tree": tree}

    def to_json(self) -> str:
        """Return the profile as JSON; equal profiles give the same text."""
        return codec.to_text(self._json_fields())

    @classmethod
    def from_json(cls, text: str | bytes) -> Profile:
        """Return the profile that `to_json` wrote as `text`; findings and unknown fields are ignored.

        Raises:
            ProfileError: `text` is not a profile, its version is unknown, or it breaks a rule of the model.
        """
        profile = cls.from_value(codec.parse_json(text))
        profile.check()
        return profile

    @classmethod
    def from_value(cls, value: Any) -> Profile:
        """Return the profile in `value`, which `codec.parse_json` returned.

        This checks the types; `check` checks the rules of the model.

        Raises:
            ProfileError: `value` is not a profile, or its version is unknown.
        """
        with codec.pause_gc():
            fields = codec.open_profile(value)
            fields.threads = list(json.THREADS.read(fields, "threads"))  # other fields refer to them by index
            return from_object(cls, fields)

    def _json_fields(self) -> Object:
        numbers = {key: number for number, key in enumerate(sorted(self.threads))}
        return {"schema": codec.SCHEMA, **to_object(self, numbers)}

    def derived(self, written: Object) -> Object:
        """Move the tree to the end of the JSON: it is written piece by piece."""
        tree = written.pop("tree")
        return {**written, "tree": tree}

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from meta.problems(self.metadata)
        if any(count < 0 for count in self.losses.values()):
            yield "a loss is negative"
        if self.timeline_calls < 0:
            yield "a timeline has fewer than no calls"
        if self.root.name != ROOT_NAME:
            yield f"the root is named {quoted(self.root.name)}"
        node_paths: set[str] = set()
        for path, depth, node in self.root.walk():
            if depth > MAX_DEPTH:
                yield f"the tree is more than {MAX_DEPTH} nodes deep"
            node_paths.add(path)
            yield from (f"node {quoted(path)}: {rule}" for rule in node.problems())
        yield from self._thread_problems(node_paths)
        yield from (self.samples or Samples()).problems_in(node_paths)
        for path, loop in self.loops.items():
            if path != loop.path or path not in node_paths:
                yield f"loop {quoted(path)}: there is no such node"
            yield from (f"loop {quoted(path)}: {rule}" for rule in loop.problems())
        for name, gauge in self.gauges.items():
            if name != gauge.name:
                yield f"gauge {quoted(name)}: filed under another name than its own"
            yield from (f"gauge {quoted(name)}: {rule}" for rule in gauge.problems())

    def _thread_problems(self, node_paths: set[str]) -> Iterator[str]:
        """Yield the rules that the threads break; `node_paths` are the paths of the tree."""
        for key, thread in self.threads.items():
            if key != thread.id or thread.parent not in node_paths:
                yield f"thread {quoted(key)}: filed under another id, or its parent is no node"
            yield from (f"thread {quoted(key)}: {rule}" for rule in thread.problems())
        if min(self.critical.values(), default=1) < 1:
            yield "a place on the critical path took no time"
        places = set(self.critical)
        for path, _, node in self.root.walk():
            if not node.by_thread.keys() <= self.threads.keys():
                yield f"node {quoted(path)}: one of its threads is not known"
            for waker in node.wakers:
                places |= {CriticalNode(waker.thread, path), CriticalNode(waker.by, waker.path)}
        for place in places:
            if place.thread not in self.threads or place.path not in node_paths:
                yield f"there is no thread {quoted(place.thread)} or no node {quoted(place.path)} to wake or wait for"
