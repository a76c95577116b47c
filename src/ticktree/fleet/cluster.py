"""A run on a cluster: each machine's part is recorded there, and gathered while the run continues."""

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
    """What a run's workers are to know: plain values.

    Args:
        run: The run.
        parent: The node in it that is the parent of workers on its own machine.
        environment: What is recorded, and how.
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
    """The run itself, where this process may write into its memory: on its machine, and on the same tmpfs."""
    try:
        run = RunDirectory.join(Path(word["run"]))
    except TicktreeError:
        return None
    mine = run.id == word["id"] and run.manifest.owner.boot_id == boot_id()
    return run if mine and not run.is_finished() and run.memory_dir.parent.parent in memory_bases() else None


# A node's part of a run: an own run on that machine, found by all workers of the run there.
#
# TMP/ticktree-cluster-UID/lock             held while a part is looked for or made
# TMP/ticktree-cluster-UID/RUN-ID.NODE      a link to the part's directory

_DIGITS = 16


def find_part(word: Mapping[str, Any], node: str) -> RunDirectory | None:
    """The part of a run that is recorded on a node; None where it has not begun.

    Args:
        word: The run's.
        node: The node's id.

    Raises:
        TicktreeError: It is not this user's.
    """
    link = _link(word, node)
    return RunDirectory.join(link.resolve()) if link.is_symlink() else None


def join_part(word: Mapping[str, Any], node: str, elapsed_ns: Callable[[], int]) -> RunDirectory:
    """The same, begun if it is not.

    Args:
        word: The run's.
        node: The node's id.
        elapsed_ns: Returns for how long the run has lasted, by its own machine's clock.

    Raises:
        TicktreeError: There is no place for it.
    """
    with _locked():
        return find_part(word, node) or _begun(word, node, elapsed_ns)


def end_part(word: Mapping[str, Any], node: str, part: RunDirectory) -> None:
    """Gives back all that a part has on its machine: workers that still run there record no longer."""
    remove_memory(part.memory_dir)
    shutil.rmtree(part.path, ignore_errors=True)
    with suppress(OSError):
        _link(word, node).unlink()


def _begun(word: Mapping[str, Any], node: str, elapsed_ns: Callable[[], int]) -> RunDirectory:
    part = RunDirectory.create(str(word["name"]), _folder(), argv=(), supervised=True)
    began_ns = int(word["began_ns"])
    if word["boot"] != boot_id():
        # Clocks of two machines have nothing in common; how long ago something was, they agree on. It is late by as
        # long as the answer took at most.
        began_ns = max(1, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - elapsed_ns())
    # While the node's own process lives, which started this one, its workers may.
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


# A loss until the node's last message: a report of the run before that, or without it, shows this loss.
NOTHING_YET = Profile(losses={"ray_nodes_not_read_to_their_end": 1})


class Collected(NamedTuple):
    """What a node hands over.

    Attributes:
        profile: Of all that was recorded there since the run began, as compressed JSON; None where that is nothing
            new, or nothing at all.
        is_here: Whether the run itself lies here: then there is nothing to hand over.
    """

    profile: bytes | None = None
    is_here: bool = False


class Collector:
    """An actor on one node.

    Args:
        word: The run's.
        node: The node's id.
    """

    def __init__(self, word: Mapping[str, Any], node: str) -> None:
        self._word = word
        self._node = node
        self._is_here = reached(word) is not None
        self._last = b""

    def collect(self) -> Collected:
        """What there is by now."""
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
        """The last word; from here on nothing is recorded on this node."""
        part = None if self._is_here else self._part()
        if part is None:
            return Collected(is_here=self._is_here)
        profile = part.profile()
        end_part(self._word, self._node, part)
        return Collected(_packed(profile))

    def _part(self) -> RunDirectory | None:
        try:
            part = find_part(self._word, self._node)
        except TicktreeError:  # it has been removed
            return None
        return None if part is None or part.is_finished() else part


def _packed(profile: Profile) -> bytes:
    return zlib.compress(profile.to_json().encode(), 1)


EVERY_S = 2.0
# Reading takes time from the programs on the node: at most a twentieth of one core.
_REST = 20
_NAMESPACE = "ticktree"
# At most: from the last that a node handed over until it was found not to answer.
_NOT_COLLECTED = "ray_milliseconds_not_collected"


@dataclass
class _Node:
    """What is known of one node.

    Attributes:
        collector: Its collector's handle; None where it is to be made.
        pending: The request that it has not answered yet.
        requested_s: When that was.
        due_s: When the next request is due.
        profile: The last that it handed over.
        handed_over_s: When that was; until then, when the node was found.
        is_done: Whether nothing more is expected of it.
    """

    handed_over_s: float
    collector: Any = None
    pending: Any = None
    requested_s: float = 0.0
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
        """For how long the run has lasted."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._run.manifest.began_ns

    def finish(self, within_s: float) -> None:
        """Gathers the last parts of all nodes; of a node that does not answer in time the previous one stays.

        Args:
            within_s: In how many seconds.
        """
        self._ends.set()
        with self._lock:
            until = time.monotonic() + within_s
            for node in self._nodes.values():
                node.pending = None  # the last part contains it
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
            if (
                node.collector is not None
                and node.pending is None
                and not node.is_done
                and node.due_s <= now_s
            ):
                node.pending, node.requested_s = node.collector.collect.remote(), now_s

    def _ask_for_last_words(self) -> None:
        for node in self._nodes.values():
            if node.collector is not None and node.pending is None and not node.is_done:
                node.pending, node.requested_s = node.collector.finish.remote(), time.monotonic()

    def _take_answers(self, within_s: float, *, last: bool = False) -> None:
        """Keeps what has come."""
        import ray

        waiting = {
            node.pending: (name, node) for name, node in self._nodes.items() if node.pending is not None
        }
        if not waiting:
            return
        # A while at a time: a node that has died does not answer, and is found out by looking.
        ready, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=min(within_s, 1.0))
        for ref in ready:
            name, node = waiting[ref]
            node.pending = None
            try:
                found = Collected(*ray.get(ref))
            except Exception:  # it died: its node may have, or it alone, and then the next one reads the same
                node.collector = None
                continue
            self._keep(name, node, found, last=last)

    def _keep(self, name: str, node: _Node, found: Collected, *, last: bool) -> None:
        if last and found.profile is None and node.profile is not None:
            self._give_up(name, node)  # its memory is gone: it is about to die, or was removed
            return
        now_s = time.monotonic()
        node.due_s = (
            now_s + max(EVERY_S, _REST * min(now_s - node.requested_s, 1.0)) if node.profile else now_s
        )
        # Up to the request; what was recorded between it and the answer may be in it or not.
        node.handed_over_s = node.requested_s
        node.is_done = last or found.is_here
        if found.profile is not None:
            node.profile = found.profile
            keep_part(self._run, name[:_DIGITS], zlib.decompress(found.profile))

    def _give_up(self, name: str, node: _Node, why: Mapping[str, int] = MappingProxyType({})) -> None:
        """Nothing more will come from a node: what it had not handed over is lost, and counted."""
        node.is_done, node.pending = True, None
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
    """For how long the run has lasted, requested from any node of its cluster.

    Raises:
        Exception: No node answers.
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
