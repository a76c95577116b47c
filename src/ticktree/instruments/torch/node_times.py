"""What part of a backward pass computes gradients that no step uses: the time of each of its nodes."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator
from functools import partial
from itertools import pairwise
from time import perf_counter_ns
from typing import Any

# A node with an input whose gradient is used and one whose gradient is not, as a layer's whose weights are frozen,
# computes two products instead of one.
ONE_OF_TWO = 0.5
# To walk a graph and hook its nodes takes four to six microseconds per node. A layer has three to ten nodes.
MOST_NODES = 20_000


class NodeTimes:
    """Times the nodes of the graph of one backward pass on a CPU: the context of the call.

    The autograd engine runs a graph on a CPU node by node in the thread that called it, so the time from one node's
    start to the next one's is the node's own.

    Args:
        roots: the nodes where the pass begins.
        unused: the `id` of each parameter whose gradient is not used.

    Raises:
        OverflowError: the graph has more than `MOST_NODES` nodes.
    """

    def __init__(self, roots: list[Any], unused: Container[int]) -> None:
        self._starts: list[tuple[int, float]] = []
        # A hook that holds its node would be a circle that keeps the graph in memory.
        self._handles = [
            node.register_prehook(partial(_note, self._starts, part))
            for node, part in _unused_parts(roots, unused).items()
        ]
        self._began_ns = self._ended_ns = 0

    def __enter__(self) -> None:
        self._began_ns = perf_counter_ns()

    def __exit__(self, *_: object) -> None:
        self._ended_ns = perf_counter_ns()
        for handle in self._handles:
            handle.remove()

    def unused_share(self) -> float | None:
        """Return the part of the pass, from 0 to 1, that unused gradients took; None where no node was seen."""
        if not self._starts:
            return None
        unused_ns = sum(
            part * (then_ns - start_ns)
            for (start_ns, part), (then_ns, _) in pairwise([*self._starts, (self._ended_ns, 0.0)])
        )
        return unused_ns / (self._ended_ns - self._began_ns)


def cpu_roots(tensors: Any) -> list[Any]:
    """Return the nodes where the backward pass of `tensors` begins; none where they cannot be timed.

    That is where a tensor is not on a CPU, and where torch compiles the whole pass, hooks included.
    """
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    if getattr(compiled, "compiled_autograd_enabled", False):
        return []
    all_of_them = (tensors,) if hasattr(tensors, "grad_fn") else tuple(tensors)
    if any(tensor.device.type != "cpu" for tensor in all_of_them):
        return []
    return [tensor.grad_fn for tensor in all_of_them if tensor.grad_fn is not None]


def _note(starts: list[tuple[int, float]], part: float, _: Any) -> None:
    starts.append((perf_counter_ns(), part))


def _unused_parts(roots: list[Any], unused: Container[int]) -> dict[Any, float]:
    """Return each node of a graph with the part of its work that is done for gradients that are not used."""
    is_used: dict[Any, bool] = {}
    parts: dict[Any, float] = {}
    for node, inputs in _after_their_inputs(roots):
        variable = getattr(node, "variable", None)  # of a leaf of the graph
        is_used[node] = (
            any(is_used[each] for each in inputs)
            if inputs
            else variable is None or id(variable) not in unused
        )
        if not is_used[node]:
            parts[node] = 1.0
        else:
            parts[node] = 0.0 if all(is_used[each] for each in inputs) else ONE_OF_TWO
    return parts


def _after_their_inputs(roots: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the nodes of a graph, each with the nodes that its gradients go to, which come before it."""
    reached: set[Any] = set()
    for root in roots:
        stack = [root] if root not in reached else []
        reached.add(root)
        while stack:
            inputs = [node for node, _ in stack[-1].next_functions if node is not None]
            below = [node for node in inputs if node not in reached]
            if not below:
                yield stack.pop(), inputs
                continue
            # One at a time: the others may lie below it.
            reached.add(below[0])
            stack.append(below[0])
            if len(reached) > MOST_NODES:
                raise OverflowError(f"a graph of more than {MOST_NODES} nodes")
