"""Timers to be entered, and what `with` on one gives: the timer's place in its stack's tree."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any, Protocol

from ticktree.compat.mlagents.node import TimerNode, Timings
from ticktree.recorder import Block, Entered, Recorder, make_block

# As many as a recorder has names for.
_NAMES_KEPT = 4096


class Holder(Protocol):
    """Who knows a recorder's nodes."""

    def extra_at(self, ref: int) -> TimerNode:
        """What is merged or added by hand at a node."""

    def node_at(self, ref: int) -> TimerNode:
        """The node of the stack's tree, brought up to date."""

    def given_at(self, ref: int) -> TimerNode:
        """The same node as the program last got it."""


class OpenTimer(Entered):
    """What `with hierarchical_timer(...) as timer` gives: the timer's place in the tree.

    It has what a `TimerNode` has, and counts as one: its numbers are those of the moment they are asked for, open
    calls included, and what is assigned to them or added to its children is kept. Pickled it is a `TimerNode`.
    """

    __slots__ = ()

    @property
    def children(self) -> dict[str, TimerNode]:
        """The timers below it, by name."""
        return self._now().children

    @property
    def total(self) -> float:
        """Seconds in it by now."""
        return self._now().total

    @total.setter
    def total(self, seconds: float) -> None:
        self._given().total = seconds

    @property
    def count(self) -> int:
        """Completed calls by now."""
        return self._now().count

    @count.setter
    def count(self, calls: int) -> None:
        self._given().count = calls

    @property
    def is_parallel(self) -> bool:
        """Whether it ran concurrently with something else."""
        return self._now().is_parallel

    @is_parallel.setter
    def is_parallel(self, value: bool) -> None:
        self._given().is_parallel = value

    @property
    def own(self) -> float | None:
        """Seconds in which none of its children ran; None where that was not measured."""
        return self._now().own

    def get_child(self, name: str) -> TimerNode:
        """Return the child called `name`, made at need."""
        return self._now().get_child(name)

    def add_time(self, elapsed: float) -> None:
        """Add a call of `elapsed` seconds that the program timed, next to the one that is being timed."""
        self._extra().add_time(elapsed)

    def merge(self, other: Timings, root_name: str | None = None, is_parallel: bool = True) -> None:
        """Add another tree to the timer; see `TimerNode.merge`.

        It is added to the tree that the program gets, and not to what is recorded: what ticktree has recorded of
        other threads and processes is there already.
        """
        self._extra().merge(other, root_name, is_parallel)

    def as_dict(self) -> dict[str, Any]:
        """Return the tree from here on as objects to be written as JSON."""
        return self._now().as_dict()

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self._now().__reduce__()

    # Without a node nothing is being recorded: then the program has a node that is in no tree.
    def _extra(self) -> TimerNode:
        holder: Holder = self.holder
        return holder.extra_at(self.node) if self.node else TimerNode()

    def _now(self) -> TimerNode:
        holder: Holder = self.holder
        return holder.node_at(self.node) if self.node else TimerNode()

    def _given(self) -> TimerNode:
        # Not brought up to date: `timer.total += 5` adds 5, not also the time since `total` was read.
        holder: Holder = self.holder
        return holder.given_at(self.node) if self.node else TimerNode()


TimerNode.register(OpenTimer)


class PushedTimer(OpenTimer):
    """What `TimerStack.push` gives. It is timed until `pop`; the time its user adds to it is that same time."""

    __slots__ = ()

    def add_time(self, elapsed: float) -> None:
        """Do nothing: what lies between `push` and `pop` is recorded as it is."""


class Timer(Block, ContextDecorator):
    """A block to be timed, or a decorator of a function to be."""

    if TYPE_CHECKING:  # each timer has its own, which the recorder makes

        def __enter__(self) -> OpenTimer: ...


class Timers(dict[str, Timer]):
    """The timers of a recorder by name, made when they are asked for.

    Args:
        recorder: What records.
        holder: What their nodes are merged into.
        gives: What `with` on them gives.
    """

    def __init__(self, recorder: Recorder, holder: Holder, gives: type[OpenTimer] = OpenTimer) -> None:
        super().__init__()
        self._recorder = recorder
        self._holder = holder
        self._gives = gives

    def __missing__(self, name: str) -> Timer:
        timer = make_block(self._recorder.section(name), Timer, self._gives, self._holder)
        if len(self) < _NAMES_KEPT:
            self[name] = timer
        return timer
