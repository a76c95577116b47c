"""One memory file's records as parts of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ticktree.profile import Gauge, Loop, Profile, ProfileError, Writer
from ticktree.profile import path as paths
from ticktree.profile.clock import key_of
from ticktree.profile.metadata import Metadata
from ticktree.profile.timeline import BEFORE_THE_TIMELINE
from ticktree.run.reading import layout
from ticktree.run.reading.accounts import leave_virtually
from ticktree.run.reading.branches import Branch
from ticktree.run.reading.clock import Clock
from ticktree.run.reading.events import counts_in
from ticktree.run.reading.gauges import gauges_of
from ticktree.run.reading.image import Image
from ticktree.run.reading.loops import LoopsReader
from ticktree.run.reading.parts import NodePart, PartsReader
from ticktree.run.reading.signals import Edge, NodeAddress, critical_path, edges_of
from ticktree.run.reading.writers import WritersReader, writer_id


class ImageReader:
    """Reads one image: all that may be wrong with it is found before anything of it reaches a tree.

    Args:
        image: The file.
        run_id: What the profile calls this run.
        above: What the process's own root stands for.
        is_child: Whether that is a node of another process. The root's own time is then nobody's, and all time of the
            sections under it is concurrent to the node they hang under.
        long_enough: How long a tick must be, by its loop's path, to be among the worst there are.

    Attributes:
        loops, gauges, writers, facts, losses, timeline_calls: What the file says beside its nodes.
        edges: Whose signals its nodes waited for.
        critical: Of a process that no other started, the critical path that led to its last moment.
        writer_ids: Whose each node is, by reference.

    Raises:
        DamagedError: The file says what cannot be.
    """

    def __init__(
        self,
        image: Image,
        run_id: str,
        above: Branch,
        *,
        is_child: bool,
        long_enough: Mapping[str, int] | None = None,
    ) -> None:
        self._image = image
        self._run_id = run_id
        self._above = above
        self._is_child = is_child
        clock = Clock(image.header)
        self._nodes = PartsReader(image, clock, leave_virtually(image))
        self._parts = self._nodes.parts
        self._paths = self._paths_below(above.path)
        self.loops: Sequence[Loop] = LoopsReader(
            image, clock, self._nodes, self._paths, long_enough or {}
        ).loops()
        self.gauges: Sequence[Gauge] = gauges_of(image)
        self.writers: Sequence[Writer] = WritersReader(image, clock, run_id).writers(self._parents())
        self.facts = _facts(image.header, clock)
        self.timeline_calls, overwritten = counts_in(image)
        self.losses = _losses(image.header, self._nodes.torn, overwritten)
        # An edge may be younger than the copy of the chain of nodes.
        self.edges: Sequence[Edge] = [edge for edge in edges_of(image) if edge.node in self._nodes.index]
        self.critical: Mapping[NodeAddress, int] = {} if is_child else critical_path(image)
        ids = {part.tree: writer_id(image, part.tree) for part in self._parts if part.is_root}
        self.writer_ids = {ref: ids[self._parts[at].tree] for ref, at in self._nodes.index.items()}
        self._check()

    def grow(self) -> dict[int, Branch]:
        """Adds this file's nodes below the branch that it hangs under.

        Returns:
            Where each node went, by reference.
        """
        return self._grow(self._above, is_child=self._is_child)

    def _grow(self, above: Branch, *, is_child: bool) -> dict[int, Branch]:
        places: list[Branch] = []
        for part in self._parts:
            place = places[part.above] if part.above >= 0 else above
            place = place if part.is_root else place.child(part.name, part.clock)
            places.append(place)
            if not (is_child and part.is_root):
                if is_child and self._parts[part.above].is_root:
                    part.concurrent_ns = part.total_ns
                place.add(part)
        self._add_histograms(above, places, is_child=is_child)
        self._share_out(places, is_child=is_child)
        return dict(zip(self._nodes.index, places, strict=True))

    def _add_histograms(self, above: Branch, places: Sequence[Branch], *, is_child: bool) -> None:
        slots: list[int] = []
        for part, place in zip(self._parts, places, strict=True):
            counts = not (is_child and part.is_root)
            slots.append(place.slot if counts and part.steady_calls.completed else -1)
            has_warmup = part.is_joined or (part.is_phased and part.warm_calls.completed)
            slots.append(place.slot + (not part.is_joined) if counts and has_warmup else -1)
        self._nodes.histograms.add_to(above.histograms, np.array(slots, np.int64))

    def _share_out(self, places: Sequence[Branch], *, is_child: bool) -> None:
        """Tells each place what of it is whose."""
        for part, place, writer in zip(self._parts, places, self.writer_ids.values(), strict=True):
            if part.is_root and (is_child or not (part.count or part.total_ns or part.self_ns)):
                continue
            place.add_share(writer, part.count, part.total_ns, part.self_ns)
            if part.is_root and part.total_ns:
                self._pass_up(part, writer, places)

    def _pass_up(self, root: NodePart, writer: str, places: Sequence[Branch]) -> None:
        """Counts what a thread covered of the node that its tree hangs under as its own further up, too."""
        at = root.above
        while at >= 0 and self._parts[at].is_root:  # each stands for the node above it
            at = self._parts[at].above
        at = self._parts[at].above if at >= 0 else at
        while at >= 0:
            part = self._parts[at]
            if not part.is_root or part.above < 0:
                places[at].add_share(writer, 0, root.total_ns, 0)
            at = part.above

    def _paths_below(self, above: str) -> list[str]:
        found: list[str] = []
        for part in self._parts:
            path = found[part.above] if part.above >= 0 else above
            found.append(path if part.is_root else paths.child(path, key_of(part.name, part.clock)))
        return found

    def _parents(self) -> dict[int, str]:
        """For each tree, the path of the node that it hangs under."""
        return {part.tree: path for part, path in zip(self._parts, self._paths, strict=True) if part.is_root}

    def _check(self) -> None:
        """What a damaged file says may lie within it and still be impossible: nothing of it must reach the others."""
        every: list[Loop | Gauge | Writer] = [*self.loops, *self.gauges, *self.writers]
        problems = (problem for one in every for problem in one.problems())
        problem = next(problems, None)
        if problem is None and all(map(NodePart.may_be, self._parts)):
            return
        # Now that something is wrong, it may take its time to say what.
        alone = Branch(self._above.name, "")
        self._grow(alone, is_child=False)
        try:
            if problem is not None:
                raise ProfileError(problem)
            Profile(alone.to_node()).check()
        except ProfileError as error:
            raise self._image.damaged(str(error)) from None


def _losses(header: layout.Record, torn: int, overwritten: int) -> dict[str, int]:
    losses = {name: header.losses[at] for at, name in enumerate(layout.LOSSES) if header.losses[at]}
    if torn:
        losses["nodes_caught_in_a_write"] = torn
    if overwritten:
        losses[BEFORE_THE_TIMELINE] = overwritten
    return losses


def _facts(header: layout.Record, clock: Clock) -> Metadata:
    facts: dict[str, frozenset[str | int | float | bool]] = {
        "clock": frozenset({layout.CLOCKS[header.clock_kind]}),
        "times_enabled": frozenset({header.times_enabled}),
    }
    if header.inner_cost or header.outer_cost:
        cost = clock.ns(header.inner_cost + header.outer_cost) / 256
        facts["section_cost_ns"] = frozenset({round(cost, 1)})
    if header.flags & layout.HeaderFlag.WAITED:
        facts["waited_for_devices"] = frozenset({True})
    return facts
