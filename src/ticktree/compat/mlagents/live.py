"""Nodes that stand for something that goes on: what is merged into them is merged into their stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ticktree.compat.mlagents.node import TimerNode, Timings

if TYPE_CHECKING:
    from ticktree.compat.mlagents.stack import TimerStack


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


class OpenTimer:
    """What `with hierarchical_timer(...) as timer` gives: the timer's place in the tree.

    It has what a `TimerNode` has; its numbers are those of the moment they are asked for, open calls included.

    Args:
        stack: The stack.
        ref: The node's reference in its recorder.
    """

    __slots__ = ("_ref", "_stack")

    def __init__(self, stack: TimerStack, ref: int) -> None:
        self._stack = stack
        self._ref = ref

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
        return self._stack.extra_at(self._ref).get_child(name)

    def add_time(self, elapsed: float) -> None:
        """Add a call of `elapsed` seconds that was timed by hand, beside the one that is being timed."""
        self._stack.extra_at(self._ref).add_time(elapsed)

    def merge(self, other: Timings, root_name: str | None = None, is_parallel: bool = True) -> None:
        """Add another tree to the timer; see `TimerNode.merge`.

        It is added to the tree that the program gets, and not to what is recorded: what ticktree has recorded of
        other threads and processes is there already.
        """
        self._stack.extra_at(self._ref).merge(other, root_name, is_parallel)

    def _now(self) -> TimerNode:
        return self._stack.node_at(self._ref)


class PushedTimer(OpenTimer):
    """What `TimerStack.push` gives. It is timed until `pop`; the time its user adds to it is that same time."""

    __slots__ = ()

    def add_time(self, elapsed: float) -> None:
        """Do nothing: what lies between `push` and `pop` is recorded as it is."""
