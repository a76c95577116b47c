"""Nodes that stand for something that goes on: what is merged into them is merged into their stack."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any, Protocol

from ticktree.compat.mlagents.node import TimerNode, Timings
from ticktree.recorder import Block, Entered, Recorder, make_block

# As many as a recorder has names for.
_NAMES_KEPT = 4096


class StackRoot(TimerNode):
    """The tree of a stack at one moment; sent to another process, it is a plain node.

    Args:
        extra: What of the stack is merged or added by hand at its root.
    """

    __slots__ = ("_extra",)

    def __init__(self, extra: TimerNode) -> None:
        super().__init__()
        self._extra = extra

    def add_time(self, elapsed: float) -> None:
        """Add a call that was timed by hand, here and to the stack."""
        super().add_time(elapsed)
        self._extra.add_time(elapsed)

    def merge(self, other: Timings, root_name: str | None = None, is_parallel: bool = True) -> None:
        """Add another tree, here and to the stack; see `TimerNode.merge`."""
        super().merge(other, root_name, is_parallel)
        self._extra.merge(other, root_name, is_parallel)

    def __reduce__(self) -> tuple[Callable[..., TimerNode], tuple[Any, ...]]:
        return _plain, (self.children, self.total, self.count, self.is_parallel, self.own)


def _plain(
    children: dict[str, TimerNode], total: float, count: int, is_parallel: bool, own: float | None
) -> TimerNode:
    node = TimerNode()
    node.children, node.total, node.count = children, total, count
    node.is_parallel, node.own = is_parallel, own
    return node


class Holder(Protocol):
    """Who knows a recorder's nodes."""

    def extra_at(self, ref: int) -> TimerNode:
        """What is merged or added by hand at a node."""

    def node_at(self, ref: int) -> TimerNode:
        """The tree from a node on, by now."""


class OpenTimer(Entered):
    """What `with hierarchical_timer(...) as timer` gives: the timer's place in the tree.

    It has what a `TimerNode` has; its numbers are those of the moment they are asked for, open calls included.
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

    @property
    def count(self) -> int:
        """Completed calls by now."""
        return self._now().count

    @property
    def is_parallel(self) -> bool:
        """Whether it ran beside something else."""
        return self._now().is_parallel

    @property
    def own(self) -> float | None:
        """Seconds in which none of its children ran; None where that was not measured."""
        return self._now().own

    def get_child(self, name: str) -> TimerNode:
        """Return what is merged or added by hand to the child called `name`, to be added to."""
        return self._extra().get_child(name)

    def add_time(self, elapsed: float) -> None:
        """Add a call of `elapsed` seconds that was timed by hand, beside the one that is being timed."""
        self._extra().add_time(elapsed)

    def merge(self, other: Timings, root_name: str | None = None, is_parallel: bool = True) -> None:
        """Add another tree to the timer; see `TimerNode.merge`.

        It is added to the tree that the program gets, and not to what is recorded: what ticktree has recorded of
        other threads and processes is there already.
        """
        self._extra().merge(other, root_name, is_parallel)

    def _extra(self) -> TimerNode:
        holder: Holder = self.holder
        return holder.extra_at(self.node)

    def _now(self) -> TimerNode:
        holder: Holder = self.holder
        return holder.node_at(self.node)


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
