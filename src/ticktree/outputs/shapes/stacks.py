"""Stacks: the tree as the formats of sampling profilers have it, each node's own time under all its callers.

Their readers add up what is below a frame to get its width, so each nanosecond may stand in one stack only, and what
ran beside its parent may not stand below it: there the parent would look as long as both together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.profile import Node, Profile


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A section in a stack.

    Attributes:
        name: as the program chose it, and its clock where that is not the host's.
        node: which one it is.
        partly: whether some of its time, at most half, ran beside its parent though it stands below it.
    """

    name: str
    node: Node
    partly: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """A node with all that is around it.

    Attributes:
        frames: from the root to the node.
        beside: whether the node, or one around it, ran for more than half of its time beside what is around it: in
            another thread, process or task.
    """

    frames: tuple[Frame, ...]
    beside: bool

    @property
    def node(self) -> Node:
        """The innermost one, whose time and calls these are."""
        return self.frames[-1].node


def stacks(profile: Profile) -> Iterator[Stack]:
    """Yield every node's stack, parents before their children and these by name.

    Their own times together are all there is in the profile, each nanosecond once. Those of stacks that are not
    `beside` are the run's length, as far as none of their frames is `partly` beside and none of the others covered
    part of what is around it.
    """
    waiting = [Stack((Frame(profile.root.name, profile.root),), beside=False)]
    while waiting:
        stack = waiting.pop()
        yield stack
        below = stack.node.children
        waiting += [_under(stack, below[name]) for name in sorted(below, reverse=True)]


def _under(stack: Stack, child: Node) -> Stack:
    # A subtree is never torn apart: what of it ran at the same time as what else is known of it as a whole only.
    mostly = 2 * abs(child.concurrent_ns) > child.total_ns
    frame = Frame(child.key, child, partly=child.concurrent_ns != 0 and not mostly)
    return Stack((*stack.frames, frame), stack.beside or mostly)
