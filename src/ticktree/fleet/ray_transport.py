"""The transport between the nodes of a Ray cluster: each has an actor that reads its part, and a gatherer asks them.

The gatherer is an actor on the run's own machine. It asks, so it knows when an answer was requested, which bounds what
is lost when a node dies.
"""

from __future__ import annotations

import gzip
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ticktree.errors import TicktreeError
from ticktree.fleet.node_parts import NODE_DIGITS, end_part, find_part, local_run
from ticktree.fleet.transport import PublishedPart
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.folding import fold_if_many
from ticktree.run.parts import write_part

EVERY_S = 2.0
# Reading takes time from the programs on the node: at most a twentieth of one core.
_REST = 20
_POLL_S = 0.05
_NAMESPACE = "ticktree"
# A part of every profile before the node's last: reports of the run until then, or without it, show this loss.
_UNFINISHED = Profile(losses={"ray_nodes_not_fully_read": 1})
# An upper bound: from the last profile of a node until the gatherer noticed that it does not answer.
_NOT_COLLECTED = "ray_milliseconds_not_collected"


@dataclass
class _Node:
    """The gatherer's state of one node.

    Attributes:
        actor: Handle of the node's actor; None until it is started.
        request: The unanswered request.
        requested_s: When the request was sent.
        due_s: When the next request is due.
        part: The last part that the node published.
        collected_s: When that part was requested; before the first one, when the node was found.
        is_done: Whether no more parts are expected.
    """

    collected_s: float
    actor: Any = None
    request: Any = None
    requested_s: float = 0.0
    due_s: float = 0.0
    part: PublishedPart | None = None
    is_done: bool = False


class RayTransport:
    """Carries parts between actors: what a node's actor publishes is its answer to the gatherer's next request.

    Args:
        start: For the gatherer: starts the actor of a node, whose id it gets.
        own: For the gatherer: the id of its own node, which has no part.
    """

    def __init__(self, start: Callable[[str], Any] | None = None, own: str = "") -> None:
        self._start = start
        self._own = own
        self._nodes: dict[str, _Node] = {}
        self._is_ending = False
        self._unsent: PublishedPart | None = None

    def publish(self, part: PublishedPart, generation: int) -> None:  # noqa: ARG002 - only the newest is ever sent
        """See `Transport`."""
        self._unsent = part

    def answer(self) -> PublishedPart | None:
        """Return what was published since the last request; None if nothing was."""
        part, self._unsent = self._unsent, None
        return part

    def collect(self, *, only_last: bool = False) -> Iterator[PublishedPart]:
        """See `Transport`. The first call with `only_last` asks all nodes to stop recording."""
        import ray

        if only_last and not self._is_ending:
            self._is_ending = True
            for node in self._nodes.values():
                node.request = None  # the last part contains its answer
        yield from self._update_nodes({node["NodeID"] for node in ray.nodes() if node["Alive"]})
        self._send_requests()
        yield from self._answers(ray)

    def is_done(self) -> bool:
        """Return whether all nodes that were found have published their last part, or never will."""
        return all(node.is_done for node in self._nodes.values())

    def give_up(self) -> Iterator[PublishedPart]:
        """Expect no more from any node: yield the last part of each, with what it lost."""
        for name, node in self._nodes.items():
            if not node.is_done:
                yield _lost(name, node)

    def _update_nodes(self, alive: set[str]) -> Iterator[PublishedPart]:
        """Start actors on new nodes, and yield the last parts of nodes that have died."""
        for name in alive - {self._own}:
            node = self._nodes.setdefault(name, _Node(time.monotonic()))
            if node.actor is None and not node.is_done and self._start is not None:
                node.actor = self._start(name)
        for name, node in self._nodes.items():
            if name not in alive and not node.is_done:
                yield _lost(name, node, {"ray_nodes_died": 1})

    def _send_requests(self) -> None:
        now_s = time.monotonic()
        for node in self._nodes.values():
            is_due = self._is_ending or node.due_s <= now_s
            if node.actor is not None and node.request is None and not node.is_done and is_due:
                method = node.actor.finish if self._is_ending else node.actor.read
                node.request, node.requested_s = method.remote(), now_s

    def _answers(self, ray: Any) -> Iterator[PublishedPart]:
        waiting = {
            node.request: (name, node) for name, node in self._nodes.items() if node.request is not None
        }
        if not waiting:
            return
        ready, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=0.0)
        for request in ready:
            name, node = waiting[request]
            node.request = None
            try:
                part = ray.get(request)
            except Exception:  # the actor died, alone or with its node; a new one reads the same part
                node.actor = None
                continue
            if part is None and self._is_ending and node.part is not None:
                yield _lost(name, node)  # the part's memory is gone: the node is about to die, or was removed
                continue
            self._note(node, part)
            if part is not None and part.packed is not None:
                node.part = part
                yield part

    def _note(self, node: _Node, part: PublishedPart | None) -> None:
        """Note the time of an answer, and when the next one is due."""
        now_s = time.monotonic()
        # Records between the request and the answer may or may not be in the part.
        node.collected_s = node.requested_s
        node.is_done = self._is_ending or (part is not None and part.is_last)
        node.due_s = now_s
        if part is not None or node.part is not None:
            node.due_s += max(EVERY_S, _REST * min(now_s - node.requested_s, 1.0))


def _lost(name: str, node: _Node, causes: Mapping[str, int] = MappingProxyType({})) -> PublishedPart:
    """Return the last part of a node that publishes no more: the records since then are lost, and counted."""
    node.is_done, node.request = True, None
    part = node.part or PublishedPart(name[:NODE_DIGITS])
    profile = _UNFINISHED if part.packed is None else Profile.from_json(gzip.decompress(part.packed))
    losses = {**causes, _NOT_COLLECTED: round(1e3 * (time.monotonic() - node.collected_s))}
    return part.holding(profile.merge(Profile(losses=losses)), is_last=True)


class NodeActor:
    """An actor that reads the part of one node.

    Args:
        reference: The result of `run_reference`.
        node: The node's id.
    """

    def __init__(self, reference: Mapping[str, Any], node: str) -> None:
        self._reference = reference
        self._node = node
        self._transport = RayTransport()
        self._part = PublishedPart(node[:NODE_DIGITS], platform.node())
        self._generation = 0
        # The node is the run's own machine: its workers record into the run.
        self._has_no_part = local_run(reference) is not None

    def read(self) -> PublishedPart | None:
        """Return the part so far; None if it has not changed."""
        if self._has_no_part:
            return self._part._replace(is_last=True)
        run = self._run()
        if run is not None:
            fold_if_many(run)
            self._publish(run.profile().merge(_UNFINISHED))
        return self._transport.answer()

    def finish(self) -> PublishedPart | None:
        """Return the last part, and end recording on this node; None if there is no part."""
        run = None if self._has_no_part else self._run()
        if run is not None:
            self._publish(run.profile(), is_last=True)
            end_part(self._reference, self._node, run)
        return self._transport.answer()

    def _publish(self, profile: Profile, *, is_last: bool = False) -> None:
        part = self._part.holding(profile, is_last=is_last)
        if part != self._part:
            self._part = part
            self._generation += 1
            self._transport.publish(part, self._generation)

    def _run(self) -> RunDirectory | None:
        try:
            run = find_part(self._reference, self._node)
        except TicktreeError:  # the part has been removed
            return None
        return None if run is None or run.is_finished() else run


class NodeGatherer:
    """An actor on the run's own machine that gathers the parts of all nodes.

    Args:
        reference: The result of `run_reference`.
        own: The id of the actor's own node.
    """

    def __init__(self, reference: Mapping[str, Any], own: str) -> None:
        self._run = RunDirectory.join(Path(reference["run"]))
        self._transport = RayTransport(partial(_start_node_actor, dict(reference)), own)
        self._ends = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._gather, daemon=True).start()

    def elapsed_ns(self) -> int:
        """Return how long the run has lasted."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._run.manifest.began_ns

    def finish(self, within_s: float) -> None:
        """Gather the last parts of all nodes; if a node does not answer in time, its previous part stays.

        Args:
            within_s: The timeout in seconds.
        """
        self._ends.set()
        with self._lock:
            deadline = time.monotonic() + within_s
            while not self._transport.is_done() and time.monotonic() < deadline:
                self._keep(self._transport.collect(only_last=True))
                time.sleep(_POLL_S)
            self._keep(self._transport.give_up())

    def _gather(self) -> None:
        while not self._ends.wait(EVERY_S):
            with self._lock, suppress(Exception):  # the next round may succeed
                if not self._ends.is_set():
                    self._keep(self._transport.collect())

    def _keep(self, parts: Iterable[PublishedPart]) -> None:
        for part in parts:
            if part.packed is not None:
                write_part(self._run, part.name, gzip.decompress(part.packed))


def start_gatherer(ray: Any, reference: Mapping[str, Any]) -> Any:
    """Start the gatherer on this process's node, and return its handle."""
    node = ray.get_runtime_context().get_node_id()
    return _actor(ray, NodeGatherer, node, _gatherer_name(reference)).remote(dict(reference), node)


def elapsed_by_gatherer(reference: Mapping[str, Any]) -> int:
    """Return how long the run has lasted, on any node of its cluster.

    Raises:
        Exception: The gatherer does not answer.
    """
    import ray

    gatherer = ray.get_actor(_gatherer_name(reference), namespace=_NAMESPACE)
    get = getattr(ray.get, "__wrapped__", ray.get)
    return int(get(gatherer.elapsed_ns.remote(), timeout=5.0))


def _gatherer_name(reference: Mapping[str, Any]) -> str:
    return f"gatherer of {reference['id']}"


def _start_node_actor(reference: Mapping[str, Any], node: str) -> Any:
    import ray

    return _actor(ray, NodeActor, node).remote(reference, node)


def _actor(ray: Any, kind: type, node: str, name: str | None = None) -> Any:
    """Return an actor class bound to one node, whose actor takes none of the resources that programs request."""
    from ray.util.scheduling_strategies import (
        NodeAffinitySchedulingStrategy,
    )

    name_options = {} if name is None else {"name": name, "namespace": _NAMESPACE}
    return ray.remote(kind).options(
        num_cpus=0,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False),
        runtime_env={"env_vars": {"TICKTREE_OFF": "1"}},
        **name_options,
    )
