"""The part of a backward pass that computes gradients that no step uses, from the time of each node."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator
from functools import partial
from itertools import pairwise
from time import perf_counter_ns
from typing import Any

# A node with one input whose gradient is used and one whose gradient is not, such as a layer with frozen weights,
# computes two products instead of one.
MIXED_PART = 0.5
# Walking a graph and hooking its nodes takes four to six microseconds per node. A layer has three to ten nodes.
MAX_NODES = 20_000


class NodeTimes:
    """Times the nodes of the graph of one backward pass on a CPU: the context of the call.

    The autograd engine runs a graph on a CPU node by node in the thread that called it, so the time from one node's
    start to the next one's is the node's own.

    Args:
        roots: the nodes where the pass begins.
        unused: the `id` of each parameter whose gradient is not used.

    Raises:
        OverflowError: the graph has more than `MAX_NODES` nodes.
    """

    def __init__(self, roots: list[Any], unused: Container[int]) -> None:
        self._starts: list[tuple[int, float]] = []
        # A hook that refers to its node would be a cycle that keeps the graph in memory.
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
        """Return the part of the pass, from 0 to 1, that unused gradients took; None if no node was timed."""
        if not self._starts:
            return None
        unused_ns = sum(
            part * (end_ns - start_ns)
            for (start_ns, part), (end_ns, _) in pairwise([*self._starts, (self._ended_ns, 0.0)])
        )
        return unused_ns / (self._ended_ns - self._began_ns)


def cpu_roots(tensors: Any) -> list[Any]:
    """Return the nodes where the backward pass of `tensors` begins; none if they cannot be timed.

    They cannot if a tensor is not on a CPU, or if torch compiles the whole pass, hooks included.
    """
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    if getattr(compiled, "compiled_autograd_enabled", False):
        return []
    tensors = (tensors,) if hasattr(tensors, "grad_fn") else tuple(tensors)
    if any(tensor.device.type != "cpu" for tensor in tensors):
        return []
    return [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]


def _note(starts: list[tuple[int, float]], part: float, _: Any) -> None:
    starts.append((perf_counter_ns(), part))


def _unused_parts(roots: list[Any], unused: Container[int]) -> dict[Any, float]:
    """Return each node of a graph with the part of its work that serves unused gradients."""
    is_used: dict[Any, bool] = {}
    parts: dict[Any, float] = {}
    for node, inputs in _in_order(roots):
        variable = getattr(node, "variable", None)  # a leaf of the graph has one
        inputs_used = [is_used[input_node] for input_node in inputs]
        is_used[node] = any(inputs_used) if inputs else variable is None or id(variable) not in unused
        parts[node] = 1.0 if not is_used[node] else 0.0 if all(inputs_used) else MIXED_PART
    return parts


def _in_order(roots: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the nodes of a graph, each after its inputs, the nodes that its gradients go to, and with them."""
    visited: set[Any] = set()
    for root in roots:
        stack = [root] if root not in visited else []
        visited.add(root)
        while stack:
            inputs = [node for node, _ in stack[-1].next_functions if node is not None]
            following = next((node for node in inputs if node not in visited), None)
            if following is None:
                yield stack.pop(), inputs
                continue
            # Only one: the path from it may contain the others.
            visited.add(following)
            stack.append(following)
            if len(visited) > MAX_NODES:
                raise OverflowError(f"a graph of more than {MAX_NODES} nodes")
