"""Deadlines: what was different in the ticks that a loop missed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ticktree.analysis.loops import TELLING_SHARE
from ticktree.profile import Causes, Loop, Node, Profile
from ticktree.profile import path as paths

# What explains less of the excess is not worth naming.
TOLD_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Usual:
    """What something took in a missed tick, and in a kept one, on average.

    Attributes:
        path: of the node; the loop's own for what passed in none of its sections.
        missed: in a missed tick. Nanoseconds of work: waits inside are not counted.
        kept: in a kept one.
    """

    path: str
    missed: float
    kept: float

    @property
    def excess(self) -> float:
        """How much more it took in a missed tick."""
        return self.missed - self.kept


class Misses:
    """The missed ticks of one loop.

    Args:
        profile: the run.
        loop: a loop of it that missed some.
    """

    def __init__(self, profile: Profile, loop: Loop) -> None:
        self.loop = loop
        self._node = profile.root.at(loop.path)

    @property
    def share(self) -> float:
        """What part of the ticks after warm-up was missed."""
        return self.loop.missed / self.loop.stats.count

    @property
    def kept(self) -> int:
        """How many were not."""
        return self.loop.stats.count - self.loop.missed

    @cached_property
    def work(self) -> Usual | None:
        """The work of a whole tick; None where it is not known what missed ticks took."""
        if self.loop.missed_ns is None:
            return None
        waits = self._outermost_waits
        missed_ns = self.loop.missed_ns - sum(self.loop.missed_breakdown[path] for path in waits)
        all_ns = self.loop.stats.sum_ns - sum(self._steady_ns(path) for path in waits)
        return self._usual(self.loop.path, missed_ns, all_ns)

    @cached_property
    def largest(self) -> Usual | None:
        """The section right under the loop that most of a missed tick's work is in; None where none is known."""
        return max(self._below(self.loop.path), key=lambda usual: usual.missed, default=None)

    @cached_property
    def blamed(self) -> list[Usual]:
        """The sections that took longer than usual in missed ticks, each the deepest that explains it, worst first."""
        if self.work is None or not self.kept or self.work.excess <= 0:
            return []
        told = TOLD_SHARE * self.work.excess
        tops = list(self._below(self.loop.path))
        own = Usual(
            self.loop.path,
            self.work.missed - sum(usual.missed for usual in tops),
            self.work.kept - sum(usual.kept for usual in tops),
        )
        found = [self._deepest(usual) for usual in tops if usual.excess >= told]
        if own.excess >= told and self._known >= self._nodes.keys():  # else it may be a section's
            found.append(own)
        return sorted(found, key=lambda usual: -usual.excess)

    def causes(self) -> tuple[Causes, Causes] | None:
        """What else happened, in the missed ticks and in the kept ones of which it is known; None where of neither."""
        every, missed = self.loop.causes, self.loop.missed_causes
        if every is None or missed is None or not 0 < missed.ticks < every.ticks:
            return None
        kept = every - missed
        return (missed, kept) if min(kept.amounts()) >= 0 else None

    def _deepest(self, usual: Usual) -> Usual:
        while True:
            below = max(self._below(usual.path), key=lambda each: each.excess, default=None)
            if below is None or below.excess < TELLING_SHARE * usual.excess:
                return usual
            usual = below

    def _below(self, above: str) -> Iterator[Usual]:
        """Yield the children of a node that work, so far as it is known what they usually take."""
        for path in self._children.get(above, ()):
            if path not in self._outermost_waits and path in self._known:
                waits = [each for each in self._outermost_waits if paths.is_below(each, path)]
                missed_ns = self.loop.missed_breakdown[path]
                missed_ns -= sum(self.loop.missed_breakdown[wait] for wait in waits)
                all_ns = self._steady_ns(path) - sum(self._steady_ns(wait) for wait in waits)
                yield self._usual(path, missed_ns, all_ns)

    def _usual(self, path: str, missed_ns: int, all_ns: int) -> Usual:
        kept_ns = max(0, all_ns - missed_ns)
        return Usual(path, max(0, missed_ns) / self.loop.missed, kept_ns / self.kept if self.kept else 0.0)

    @cached_property
    def _nodes(self) -> Mapping[str, Node]:
        """The nodes that missed ticks were in, parents before their children."""
        found: dict[str, Node] = {self.loop.path: self._node}
        for path in sorted(self.loop.missed_breakdown, key=lambda path: len(paths.split(path))):
            *above, name = paths.split(path)
            parent = found.get(paths.join(above))
            if parent is not None and name in parent.children:
                found[path] = parent.children[name]
        return found

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._nodes:
            found.setdefault(paths.parent(path), []).append(path)
        return found

    @cached_property
    def _known(self) -> frozenset[str]:
        """The nodes that only the loop's own threads were in: what others did there is in no tick."""
        own = self._node.by_writer.keys()
        return frozenset(path for path, node in self._nodes.items() if node.by_writer.keys() <= own)

    @cached_property
    def _outermost_waits(self) -> frozenset[str]:
        waits: set[str] = set()
        for path, node in self._nodes.items():
            if node.wait and path != self.loop.path and not any(paths.is_below(path, wait) for wait in waits):
                waits.add(path)
        return frozenset(waits & self._known)

    def _steady_ns(self, path: str) -> int:
        return self._nodes[path].steady.sum_ns


def misses(profile: Profile) -> list[Misses]:
    """Return the loops that missed ticks, the one that missed the largest part of them first."""
    missing: Iterable[Loop] = (loop for loop in profile.loops.values() if loop.missed and loop.stats.count)
    found = [Misses(profile, loop) for loop in missing]
    return sorted(found, key=lambda one: (-one.share, one.loop.path))
