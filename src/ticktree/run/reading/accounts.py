"""The clock and the threads of a memory file, and its accounts with every open call ended virtually."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ticktree.profile import Thread
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image
from ticktree.run.reading.layout import NodeFlag

# Two anchors closer than this are less accurate than the scale measured when the recorder was made.
_MIN_ANCHOR_DISTANCE_NS = 10_000_000
_MOMENT_LIMIT_NS = 1 << 61


class Clock:
    """Converts one file's clock ticks to nanoseconds, exactly and in integers."""

    def __init__(self, header: layout.Record) -> None:
        first, last = header.first, header.last
        self._ns: int = header.ns_per_tick
        self._ticks: int = 1 << 32
        elapsed_ns, elapsed = last.monotonic_ns - first.monotonic_ns, last.ticks - first.ticks
        if header.clock_kind and elapsed_ns > _MIN_ANCHOR_DISTANCE_NS and elapsed > 0:
            ns_per_tick = (elapsed_ns << 32) // elapsed
            # The process may have been between two writes: clocks do not drift by a thousandth.
            if abs(ns_per_tick - header.ns_per_tick) * 1000 < header.ns_per_tick:
                self._ns, self._ticks = elapsed_ns, elapsed
        self._first_ticks: int = first.ticks
        self._began_before_ns: int = max(0, first.monotonic_ns - header.run_began_ns)

    def ns(self, ticks: int) -> int:
        """Return a duration in nanoseconds, rounded; it may be negative."""
        return (2 * ticks * self._ns + self._ticks) // (2 * self._ticks)

    def since_began_ns(self, ticks: int) -> int:
        """Return a moment in nanoseconds since the run began."""
        return max(0, self._began_before_ns + self.ns(ticks - self._first_ticks))

    def moments_ns(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return moments in nanoseconds since the run began, in the same order as their ticks."""
        # Modulo 2^64, so that earlier ones are negative.
        ticks_since_first = (ticks - np.uint64(self._first_ticks)).view(np.int64)
        if self._ns == self._ticks:
            ns = ticks_since_first
        else:
            # Exact to a nanosecond within a hundred days; rounding keeps the order.
            ns_exact = ticks_since_first.astype(np.longdouble) * self._ns / self._ticks
            ns = np.rint(np.clip(ns_exact, -_MOMENT_LIMIT_NS, _MOMENT_LIMIT_NS)).astype(np.int64)
        # A damaged file may contain any moments: they become far away, and stay in order.
        ns = np.clip(ns, -_MOMENT_LIMIT_NS, _MOMENT_LIMIT_NS) + min(self._began_before_ns, _MOMENT_LIMIT_NS)
        moments: NDArray[np.int64] = np.maximum(ns, 0)
        return moments


def thread_id(image: Image, tree: int) -> str:
    """Return the id that a tree's thread has in profiles."""
    return f"{image.writer}/{tree}"


def main_tree(trees: Mapping[int, layout.Record]) -> int:
    """Return the tree of the main thread among all trees in the order of their creation; 0 if there is none.

    Threads with an unknown start share the run's root; the first of them is the thread that began to record.
    """
    return next((ref for ref, tree in trees.items() if not tree.spawn_node), 0)


def threads_of(image: Image, clock: Clock, run_id: str, parents: Mapping[int, str]) -> list[Thread]:
    """Return every thread of an image, including those without a call.

    Args:
        image: The file.
        clock: Its clock.
        run_id: The run's id in the profile.
        parents: For each tree, the path of its parent node.
    """
    header = image.header
    process_name = image.text(header.process_name) if header.process_name else ""
    started_ns, last_ns = (clock.since_began_ns(anchor.ticks) for anchor in (header.first, header.last))
    trees = dict(image.trees())
    main = main_tree(trees)
    threads = []
    for ref, parent in parents.items():
        is_main = ref == main
        tree = trees.get(ref)  # linked after its root: the process may have died in between
        thread_name = tree.thread_name.decode("utf-8", "ignore") if tree else ""
        # The role that the program declared; else that of the thread's name, or the main thread's process.
        role = (tree.role if tree else 0) or (header.role if is_main else 0)
        implied = role_of((process_name or thread_name) if is_main else thread_name)
        threads.append(
            Thread(
                id=thread_id(image, ref),
                run=run_id,
                process_name=process_name,
                thread_name=thread_name,
                role=image.text(role) if role else implied,
                is_main=is_main,
                parent=parent,
                started_ns=started_ns,
                last_ns=last_ns,
                gc_ns=clock.ns(header.gc_ticks) if is_main else 0,
            )
        )
    return threads


# "actor-3", "env_worker_12", "actor 3", "actor[3]", "Worker<AsyncVectorEnv>-3", "SpawnPoolWorker-1:2": the number at
# the end, with its separator. Only one number: the last number of "ThreadPoolExecutor-0_3" is the thread's, the number
# before it the executor's.
_NUMBER = re.compile(r"[\s_\-.:#]*[\[(]?#?\d+(?::\d+)*[\])]?")
_NAME_WITH_NUMBER = re.compile(r"[^\W\d_]{3,}\d+")  # "actor3" is one of several actors; "td3" is an algorithm
# "Thread-7 (collect)": the threading module's own name for a thread without one, and its function.
_THREAD = re.compile(r"Thread-\d+ \((?P<target>.+)\)")


def role_of(name: str) -> str:
    """Return the role that a name implies; the name itself if it is only a number."""
    thread = _THREAD.fullmatch(name)
    if thread is not None:
        return thread["target"]
    number = re.search(rf"{_NUMBER.pattern}$", name)
    if number is None or not number.start():
        return name
    if number[0].isdigit() and not re.search(rf"(?:^|[^\w]|_){_NAME_WITH_NUMBER.pattern}$", name):
        return name
    return name[: number.start()]


@dataclass
class Accounts:
    """What ending every open call at one moment adds to the nodes, in clock ticks, by node reference.

    Attributes:
        concurrent: Added to its concurrent time, signed.
        ages: The durations so far of a node's open calls.
    """

    self_ticks: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    concurrent: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    ages: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


def leave_virtually(image: Image) -> Accounts:
    """Return what ending every open call of an image, at the moment it was taken, adds to times but not to calls.

    The file of a dead process ends when the process last read the clock; calls that it entered later are assumed to
    have begun at that moment.
    """
    frames = image.open_frames()
    now = max([image.header.last.ticks, *(max(frame.start, frame.cover_start) for frame in frames.values())])
    accounts = Accounts()
    # Children are younger than their parents: the youngest first.
    for frame in sorted(frames.values(), key=lambda frame: -frame.serial):
        if frame.node:
            _leave_frame(frame, frames.get(frame.parent), now, accounts)
    return accounts


def _leave_frame(frame: layout.Record, parent: layout.Record | None, now: int, accounts: Accounts) -> None:
    duration = now - frame.start
    if frame.active:
        covered = now - frame.cover_start
        frame.covered += covered
        accounts.concurrent[frame.last_child] -= covered
    covering = 0
    if parent is not None and parent.serial == frame.parent_serial and parent.active:
        parent.active -= 1
        if not parent.active:
            covering = now - parent.cover_start
            parent.covered += covering
    accounts.self_ticks[frame.node] += duration - frame.covered
    accounts.concurrent[frame.node] += duration - covering
    accounts.ages[frame.node].append(duration)


_IS_ROOT, _IN_NS = int(NodeFlag.ROOT), int(NodeFlag.NS)  # plain numbers: this is read often


class Tally(NamedTuple):
    """A node's totals at one moment, with open calls ended virtually, in clock ticks or nanoseconds.

    Attributes:
        concurrent: the part of its total time that does not count as its parent's; signed.
        open: number of open calls.
    """

    calls: int = 0
    own: int = 0
    concurrent: int = 0
    open: int = 0

    def since(self, previous: Tally) -> Tally:
        """Return the increase since `previous`; everything if the recorder was reset in between."""
        if self.calls < previous.calls or self.own < previous.own:
            return self
        return Tally(
            self.calls - previous.calls,
            self.own - previous.own,
            self.concurrent - previous.concurrent,
            self.open,
        )


class NodePosition(NamedTuple):
    """The position of a node in its tree.

    Attributes:
        name: name of the section; "" for a tree's root.
        parent: the parent node; for a tree's root the node in which its thread was started, 0 if unknown.
        in_ns: whether its tally is in nanoseconds.
    """

    name: str
    parent: int
    tree: int
    is_root: bool
    in_ns: bool


class Tallies:
    """The tallies of one memory image, by the nodes' references.

    Args:
        data: The image, as `Recorder.image` gives it.

    Attributes:
        places: The position of each node, parents before their children.
        at: The tally of each node.
        began: When the recorder began, in clock ticks.
        now: When the image was taken, in clock ticks.
    """

    def __init__(self, data: bytes) -> None:
        image = Image(data)
        accounts = leave_virtually(image)
        self.places: dict[int, NodePosition] = {}
        self.at: dict[int, Tally] = {}
        for ref, node in image.nodes():
            is_root = bool(node.flags & _IS_ROOT)
            name = "" if is_root else image.text(node.name)
            self.places[ref] = NodePosition(name, node.parent, node.tree, is_root, bool(node.flags & _IN_NS))
            self.at[ref] = Tally(
                node.stats.count + node.warmup.count,
                node.own + accounts.self_ticks.get(ref, 0),
                node.concurrent + accounts.concurrent.get(ref, 0),
                len(accounts.ages.get(ref, ())),
            )
        self.threads: dict[int, int] = {ref: tree.thread_id for ref, tree in image.trees()}
        self.began: int = image.header.first.ticks
        self.now: int = image.header.last.ticks
        self._clock = Clock(image.header)

    def ns(self, ticks: int) -> int:
        """Return a duration in nanoseconds."""
        return self._clock.ns(ticks)
