"""The gatherer: on the run's own machine, it keeps a collector on each node and writes what they hand over."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ticktree.fleet.cluster.collector import NOTHING_YET, Collected, Collector
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.parts import keep_part

EVERY_S = 2.0
# Reading takes time from the programs on the node: at most a twentieth of one core.
_REST = 20
_NAMESPACE = "ticktree"
# At most: from the last that a node handed over until it was found not to answer.
_NOT_COLLECTED = "ray_milliseconds_not_collected"
_DIGITS = 16


@dataclass
class _Node:
    """What is known of one node.

    Attributes:
        collector: Its collector's handle; None where it is to be made.
        asked: What it was asked for and has not answered yet.
        asked_s: When that was.
        due_s: When it is to be asked again.
        profile: The last that it handed over.
        handed_over_s: When that was; until then, when it was first seen.
        is_done: Whether nothing more is expected of it.
    """

    handed_over_s: float
    collector: Any = None
    asked: Any = None
    asked_s: float = 0.0
    due_s: float = 0.0
    profile: bytes | None = None
    is_done: bool = False


class Gatherer:
    """An actor on the run's own machine.

    Args:
        word: The run's.
        own: The id of the node that it is on.
    """

    def __init__(self, word: Mapping[str, Any], own: str) -> None:
        self._word = dict(word)
        self._run = RunDirectory.join(Path(word["run"]))
        self._own = own
        self._nodes: dict[str, _Node] = {}
        self._ends = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._go_on, daemon=True).start()

    def elapsed_ns(self) -> int:
        """How long the run has been going on."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._run.manifest.began_ns

    def finish(self, within_s: float) -> None:
        """Gathers the last words of all nodes; who does not answer in time is left at the last that it handed over.

        Args:
            within_s: In how many seconds.
        """
        self._ends.set()
        with self._lock:
            until = time.monotonic() + within_s
            for node in self._nodes.values():
                node.asked = None  # its last word says as much, and more
            while (left_s := until - time.monotonic()) > 0 and not all(
                each.is_done for each in self._nodes.values()
            ):
                self._look()
                self._ask_for_last_words()
                self._take_answers(left_s, last=True)
            for name, node in self._nodes.items():
                if not node.is_done:
                    self._give_up(name, node)

    def _go_on(self) -> None:
        while not self._ends.wait(EVERY_S):
            with self._lock, suppress(Exception):  # what cannot be had now may be had the next time
                if not self._ends.is_set():
                    self._look()
                    self._ask()
                    self._take_answers(0.0)

    def _look(self) -> None:
        """Sees which nodes there are."""
        import ray

        now_s = time.monotonic()
        alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        for name in alive - {self._own}:
            node = self._nodes.setdefault(name, _Node(now_s))
            if node.collector is None and not node.is_done:
                node.collector = _start(ray, Collector, name).remote(self._word, name)
        for name, node in self._nodes.items():
            if name not in alive and not node.is_done:
                self._give_up(name, node, {"ray_nodes_died": 1})

    def _ask(self) -> None:
        for node in self._nodes.values():
            now_s = time.monotonic()
            if node.collector is not None and node.asked is None and not node.is_done and node.due_s <= now_s:
                node.asked, node.asked_s = node.collector.collect.remote(), now_s

    def _ask_for_last_words(self) -> None:
        for node in self._nodes.values():
            if node.collector is not None and node.asked is None and not node.is_done:
                node.asked, node.asked_s = node.collector.finish.remote(), time.monotonic()

    def _take_answers(self, within_s: float, *, last: bool = False) -> None:
        """Keeps what has come."""
        import ray

        waiting = {node.asked: (name, node) for name, node in self._nodes.items() if node.asked is not None}
        if not waiting:
            return
        # A while at a time: a node that has died does not answer, and is found out by looking.
        ready, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=min(within_s, 1.0))
        for ref in ready:
            name, node = waiting[ref]
            node.asked = None
            try:
                found = Collected(*ray.get(ref))
            except Exception:  # it died: its node may have, or it alone, and then the next one reads the same
                node.collector = None
                continue
            self._keep(name, node, found, last=last)

    def _keep(self, name: str, node: _Node, found: Collected, *, last: bool) -> None:
        if last and found.profile is None and node.profile is not None:
            self._give_up(name, node)  # its memory is gone: it is about to die, or somebody has removed it
            return
        now_s = time.monotonic()
        node.due_s = now_s + max(EVERY_S, _REST * min(now_s - node.asked_s, 1.0)) if node.profile else now_s
        # Up to when it was asked; what came between that and its answer may be in it or not.
        node.handed_over_s = node.asked_s
        node.is_done = last or found.is_here
        if found.profile is not None:
            node.profile = found.profile
            keep_part(self._run, name[:_DIGITS], zlib.decompress(found.profile))

    def _give_up(self, name: str, node: _Node, why: Mapping[str, int] = MappingProxyType({})) -> None:
        """Nothing more will come from a node: what it had not handed over is lost, and that is said."""
        node.is_done, node.asked = True, None
        kept = Profile.from_json(zlib.decompress(node.profile)) if node.profile else NOTHING_YET
        lost = {**why, _NOT_COLLECTED: round(1e3 * (time.monotonic() - node.handed_over_s))}
        keep_part(self._run, name[:_DIGITS], kept.merge(Profile(losses=lost)).to_json().encode())


def gatherer_name(word: Mapping[str, Any]) -> str:
    """What a run's gatherer is called among Ray's actors."""
    return f"gatherer of {word['id']}"


def start_gatherer(ray: Any, word: Mapping[str, Any]) -> Any:
    """Starts it on the node that this process is on, and returns its handle."""
    own = ray.get_runtime_context().get_node_id()
    return _start(ray, Gatherer, own, gatherer_name(word)).remote(dict(word), own)


def elapsed_by_gatherer(word: Mapping[str, Any]) -> int:
    """How long the run has been going on, asked from any node of its cluster.

    Raises:
        Exception: There is nobody to ask.
    """
    import ray

    gatherer = ray.get_actor(gatherer_name(word), namespace=_NAMESPACE)
    get = getattr(ray.get, "__wrapped__", ray.get)
    return int(get(gatherer.elapsed_ns.remote(), timeout=5.0))


def _start(ray: Any, kind: type, node: str, name: str | None = None) -> Any:
    """An actor on one node, that takes none of what programs ask for there."""
    from ray.util.scheduling_strategies import (
        NodeAffinitySchedulingStrategy,
    )

    named = {} if name is None else {"name": name, "namespace": _NAMESPACE}
    return ray.remote(kind).options(
        num_cpus=0,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False),
        runtime_env={"env_vars": {"TICKTREE_OFF": "1"}},
        **named,
    )
