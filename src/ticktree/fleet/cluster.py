"""A run on a Ray cluster: each machine records its own part, and a gatherer collects them while the run continues."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ticktree.errors import TicktreeError
from ticktree.files.owner import Owner, boot_id, start_of
from ticktree.files.trust import require_private
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.folding import fold_if_many
from ticktree.run.memory import memory_bases, remove_memory
from ticktree.run.parts import keep_part


def word_of(run: RunDirectory, parent: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what a run's workers must know, as plain values.

    Args:
        run: The run.
        parent: The run's node that is the parent of workers on the run's own machine.
        environment: The environment variables that configure recording.
    """
    return {
        "run": str(run.path),
        "id": run.id,
        "name": run.manifest.metadata.get("name", "run"),
        "boot": run.manifest.owner.boot_id,
        "began_ns": run.manifest.began_ns,
        "parent": parent,
        "environment": dict(environment),
    }


def reached(word: Mapping[str, Any]) -> RunDirectory | None:
    """Return the run if this process can write into its memory, on its machine and the same tmpfs; else None."""
    try:
        run = RunDirectory.join(Path(word["run"]))
    except TicktreeError:
        return None
    mine = run.id == word["id"] and run.manifest.owner.boot_id == boot_id()
    return run if mine and not run.is_finished() and run.memory_dir.parent.parent in memory_bases() else None


# A node's part of a run: a separate run on that machine, which all workers of the run there find.
#
# TMP/ticktree-cluster-UID/lock             held while a process looks for a part or makes it
# TMP/ticktree-cluster-UID/RUN-ID.NODE      a link to the part's directory

_DIGITS = 16


def find_part(word: Mapping[str, Any], node: str) -> RunDirectory | None:
    """Return the part of a run that a node records; None if it has not begun.

    Args:
        word: The result of `word_of`.
        node: The node's id.

    Raises:
        TicktreeError: The part belongs to another user.
    """
    link = _link(word, node)
    return RunDirectory.join(link.resolve()) if link.is_symlink() else None


def join_part(word: Mapping[str, Any], node: str, elapsed_ns: Callable[[], int]) -> RunDirectory:
    """Return the part of a run that a node records, and begin it if necessary.

    Args:
        word: The result of `word_of`.
        node: The node's id.
        elapsed_ns: Returns how long the run has lasted, by its own machine's clock.

    Raises:
        TicktreeError: The part's directory cannot be made.
    """
    with _locked():
        return find_part(word, node) or _begun(word, node, elapsed_ns)


def end_part(word: Mapping[str, Any], node: str, part: RunDirectory) -> None:
    """Remove a part's memory and directory: workers that still run on its machine stop recording."""
    remove_memory(part.memory_dir)
    shutil.rmtree(part.path, ignore_errors=True)
    with suppress(OSError):
        _link(word, node).unlink()


def _begun(word: Mapping[str, Any], node: str, elapsed_ns: Callable[[], int]) -> RunDirectory:
    part = RunDirectory.create(str(word["name"]), _folder(), argv=(), supervised=True)
    began_ns = int(word["began_ns"])
    if word["boot"] != boot_id():
        # Clocks of two machines are unrelated, but their durations agree. The begin is late by at most the time that
        # the answer took.
        began_ns = max(1, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - elapsed_ns())
    # The owner is the node's own process, which started this one: workers end before it does.
    starter = os.getppid()
    owner = Owner.current()._replace(pid=starter, started=start_of(starter) or 0)
    part.manifest = part.manifest._replace(began_ns=began_ns, owner=owner)
    part.describe({"host": platform.node()})
    _link(word, node).symlink_to(part.path)
    return part


def _link(word: Mapping[str, Any], node: str) -> Path:
    return _folder() / f"{word['id']}.{node[:_DIGITS]}"


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"ticktree-cluster-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise TicktreeError(
            f"no place for this node's part of the run in {folder}: {error.strerror}"
        ) from None
    require_private(folder)
    return folder


@contextmanager
def _locked() -> Iterator[None]:
    try:
        fd = os.open(_folder() / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise TicktreeError(f"no place for this node's part of the run: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


# Part of every profile before the node's last: reports of the run until then, or without it, show this loss.
NOTHING_YET = Profile(losses={"ray_nodes_not_fully_read": 1})


class Collected(NamedTuple):
    """A node's answer to the gatherer.

    Attributes:
        profile: The profile of the node's part since the run began, as compressed JSON; None if there is nothing new.
        is_here: Whether the node is the run's own machine: then there is no part.
    """

    profile: bytes | None = None
    is_here: bool = False


class Collector:
    """An actor that reads the part of one node.

    Args:
        word: The result of `word_of`.
        node: The node's id.
    """

    def __init__(self, word: Mapping[str, Any], node: str) -> None:
        self._word = word
        self._node = node
        self._is_here = reached(word) is not None
        self._last = b""

    def collect(self) -> Collected:
        """Return the part's profile so far, if it has changed."""
        if self._is_here:
            return Collected(is_here=True)
        part = self._part()
        if part is None:
            return Collected()
        fold_if_many(part)
        packed = _packed(part.profile().merge(NOTHING_YET))
        if packed == self._last:
            return Collected()
        self._last = packed
        return Collected(packed)

    def finish(self) -> Collected:
        """Return the part's last profile, and end recording on this node."""
        part = None if self._is_here else self._part()
        if part is None:
            return Collected(is_here=self._is_here)
        profile = part.profile()
        end_part(self._word, self._node, part)
        return Collected(_packed(profile))

    def _part(self) -> RunDirectory | None:
        try:
            part = find_part(self._word, self._node)
        except TicktreeError:  # the part has been removed
            return None
        return None if part is None or part.is_finished() else part


def _packed(profile: Profile) -> bytes:
    return zlib.compress(profile.to_json().encode(), 1)


EVERY_S = 2.0
# Reading takes time from the programs on the node: at most a twentieth of one core.
_REST = 20
_NAMESPACE = "ticktree"
# An upper bound: from the last profile of a node until the gatherer noticed that it does not answer.
_NOT_COLLECTED = "ray_milliseconds_not_collected"


@dataclass
class _Node:
    """The gatherer's state of one node.

    Attributes:
        collector: Handle of the node's collector; None until it is started.
        pending: The unanswered request.
        requested_s: When the request was sent.
        due_s: When the next request is due.
        profile: The node's last profile.
        handed_over_s: When it was requested; before the first, when the node was found.
        is_done: Whether no more profiles are expected.
    """

    handed_over_s: float
    collector: Any = None
    pending: Any = None
    requested_s: float = 0.0
    due_s: float = 0.0
    profile: bytes | None = None
    is_done: bool = False


class Gatherer:
    """An actor on the run's own machine that gathers the parts of all nodes.

    Args:
        word: The result of `word_of`.
        own: The id of the actor's own node.
    """

    def __init__(self, word: Mapping[str, Any], own: str) -> None:
        self._word = dict(word)
        self._run = RunDirectory.join(Path(word["run"]))
        self._own = own
        self._nodes: dict[str, _Node] = {}
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
            until = time.monotonic() + within_s
            for node in self._nodes.values():
                node.pending = None  # the last part contains it
            while (left_s := until - time.monotonic()) > 0 and not all(
                node.is_done for node in self._nodes.values()
            ):
                self._update_nodes()
                self._request_last()
                self._take_answers(left_s, last=True)
            for name, node in self._nodes.items():
                if not node.is_done:
                    self._give_up(name, node)

    def _gather(self) -> None:
        while not self._ends.wait(EVERY_S):
            with self._lock, suppress(Exception):  # the next round may succeed
                if not self._ends.is_set():
                    self._update_nodes()
                    self._request()
                    self._take_answers(0.0)

    def _update_nodes(self) -> None:
        """Start collectors on new nodes, and give up nodes that have died."""
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

    def _request(self) -> None:
        for node in self._nodes.values():
            now_s = time.monotonic()
            if (
                node.collector is not None
                and node.pending is None
                and not node.is_done
                and node.due_s <= now_s
            ):
                node.pending, node.requested_s = node.collector.collect.remote(), now_s

    def _request_last(self) -> None:
        for node in self._nodes.values():
            if node.collector is not None and node.pending is None and not node.is_done:
                node.pending, node.requested_s = node.collector.finish.remote(), time.monotonic()

    def _take_answers(self, within_s: float, *, last: bool = False) -> None:
        """Keep the answers that have arrived."""
        import ray

        waiting = {
            node.pending: (name, node) for name, node in self._nodes.items() if node.pending is not None
        }
        if not waiting:
            return
        # At most a second at a time: a node that has died does not answer, and only `_update_nodes` notices it.
        ready, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=min(within_s, 1.0))
        for ref in ready:
            name, node = waiting[ref]
            node.pending = None
            try:
                collected = Collected(*ray.get(ref))
            except Exception:  # the collector died, alone or with its node; a new one reads the same part
                node.collector = None
                continue
            self._keep(name, node, collected, last=last)

    def _keep(self, name: str, node: _Node, collected: Collected, *, last: bool) -> None:
        if last and collected.profile is None and node.profile is not None:
            self._give_up(name, node)  # the part's memory is gone: the node is about to die, or was removed
            return
        now_s = time.monotonic()
        node.due_s = (
            now_s + max(EVERY_S, _REST * min(now_s - node.requested_s, 1.0)) if node.profile else now_s
        )
        # Records between the request and the answer may or may not be in the profile.
        node.handed_over_s = node.requested_s
        node.is_done = last or collected.is_here
        if collected.profile is not None:
            node.profile = collected.profile
            keep_part(self._run, name[:_DIGITS], zlib.decompress(collected.profile))

    def _give_up(self, name: str, node: _Node, why: Mapping[str, int] = MappingProxyType({})) -> None:
        """Expect no more from a node: the records since its last profile are lost, and counted."""
        node.is_done, node.pending = True, None
        kept = Profile.from_json(zlib.decompress(node.profile)) if node.profile else NOTHING_YET
        lost = {**why, _NOT_COLLECTED: round(1e3 * (time.monotonic() - node.handed_over_s))}
        keep_part(self._run, name[:_DIGITS], kept.merge(Profile(losses=lost)).to_json().encode())


def gatherer_name(word: Mapping[str, Any]) -> str:
    """Return the name of a run's gatherer among Ray's actors."""
    return f"gatherer of {word['id']}"


def start_gatherer(ray: Any, word: Mapping[str, Any]) -> Any:
    """Start the gatherer on this process's node, and return its handle."""
    own = ray.get_runtime_context().get_node_id()
    return _start(ray, Gatherer, own, gatherer_name(word)).remote(dict(word), own)


def elapsed_by_gatherer(word: Mapping[str, Any]) -> int:
    """Return how long the run has lasted, on any node of its cluster.

    Raises:
        Exception: The gatherer does not answer.
    """
    import ray

    gatherer = ray.get_actor(gatherer_name(word), namespace=_NAMESPACE)
    get = getattr(ray.get, "__wrapped__", ray.get)
    return int(get(gatherer.elapsed_ns.remote(), timeout=5.0))


def _start(ray: Any, kind: type, node: str, name: str | None = None) -> Any:
    """Return an actor class bound to one node, whose actor takes none of the resources that programs request."""
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
