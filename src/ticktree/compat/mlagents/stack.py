"""TimerStack: the timers of one thread, or of a separate recorder."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Any

from ticktree.compat.mlagents.nodes import (
    GaugeNode,
    Growth,
    TimerNode,
    Timings,
    as_written_by_release,
    merge_into,
)
from ticktree.compat.mlagents.timers import OpenTimer, PushedTimer, StackTree, Timer, Timers, add_extras
from ticktree.recorder import Origin
from ticktree.recorder import Recorder as BaseRecorder
from ticktree.run.reading.accounts import Tallies
from ticktree.session import Recorder, current

TIMER_FORMAT_VERSION = "0.1.0"


class _Lock:
    """One lock for all stacks, because the main thread's stack reads the others; it survives a fork."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()  # after a fork, a thread of the parent may hold the old one

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


LOCK = _Lock()


class TimerStack:
    """The timers, gauges and metadata of one file.

    A stack that the program creates has a recorder of its own, and contains the timers of all threads that use it.

    Args:
        recorder: The recorder; by default a new one.
        timers: The recorder's timers; by default new ones for this stack.

    Attributes:
        recorder: the recorder.
        timers: by name.
        gauges: by name.
        metadata: facts about the program.
        start_time: when the stack was created or reset, by `time.perf_counter`.
    """

    def __init__(self, recorder: BaseRecorder | None = None, timers: Timers | None = None) -> None:
        if recorder is None:
            recorder = Recorder()
            weakref.finalize(self, recorder.disable).atexit = False  # its hooks keep it alive
        self.recorder: BaseRecorder = recorder
        self.timers = Timers(recorder, self) if timers is None else timers
        self._first_tallies: Tallies | None = None
        self._last_tallies: Tallies | None = None
        self._pushed: list[Timer] = []
        self._pushing = Timers(recorder, self, PushedTimer)
        self._begin()

    def _begin(self) -> None:
        self.start_time = time.perf_counter()
        self.gauges: dict[str, GaugeNode] = {}
        self.metadata: dict[str, Any] = {
            "timer_format_version": TIMER_FORMAT_VERSION,
            "start_time_seconds": str(int(time.time())),
            "python_version": sys.version,
            "command_line_arguments": " ".join(sys.argv),
        }
        self.extras: dict[int, TimerNode] = {}
        self._tree = StackTree()

    def reset(self) -> None:
        """Reset the timers, gauges and metadata; open timers begin again now.

        The recorder's data, which `ticktree report` shows, stays.
        """
        self.begin_after(self.tallies())
        self._begin()

    def begin_after(self, tallies: Tallies | None) -> None:
        """Leave out what was recorded before `tallies`."""
        self._first_tallies = tallies

    def end_with(self, tallies: Tallies | None) -> None:
        """Leave out what is recorded after `tallies`: other threads reuse the trees of a thread that has ended."""
        self._last_tallies = self._last_tallies or tallies

    def tallies(self) -> Tallies | None:
        """Return what is recorded so far; None before anything was recorded."""
        if self._last_tallies is not None:
            return self._last_tallies
        data = self.recorder.image()
        return Tallies(data) if data else None

    def trees(self) -> set[int]:
        """Return the recorder's trees that belong to the stack."""
        tallies = self.tallies()
        return self._own_trees(tallies) if tallies else set()

    def push(self, name: str) -> OpenTimer:
        """Enter a timer; `pop` leaves it. Prefer `hierarchical_timer`, which cannot be exited out of order."""
        timer = self._pushing[name]
        self._pushed.append(timer)
        return timer.__enter__()

    def pop(self) -> None:
        """Leave the timer that was pushed last, if any."""
        if self._pushed:
            self._pushed.pop().__exit__(None, None, None)

    def extra_at(self, ref: int) -> TimerNode:
        """Return the program's additions to a node of the recorder; 0 is the root."""
        return self.extras.setdefault(ref, TimerNode())

    @property
    def root(self) -> TimerNode:
        """The current tree, as `get_root` returns it."""
        return self.get_root()

    def get_root(self) -> TimerNode:
        """Return the current tree, with the time so far of open timers.

        It is the same object until `reset`, is updated at each access, and can be sent to another process. It keeps
        the program's additions and assignments, which are not in the recording.
        """
        return self._update().root

    def node_at(self, ref: int) -> TimerNode:
        """Return the current tree of one of the recorder's nodes."""
        tree = self._update()
        return tree.nodes.get(ref, tree.root)

    def snapshot_node_at(self, ref: int) -> TimerNode:
        """Return the same node, as the program last got it."""
        return self._tree.nodes.get(ref) or self.node_at(ref)

    def collect(self) -> None:
        """Collect the program's additions to its tree and assignments in it."""
        with LOCK:
            self._tree.collect(self.extra_at)
            self._tree.take_snapshots(self._tree.nodes)

    def get_timing_tree(self, node: Timings | None = None) -> dict[str, Any]:
        """Return a tree as a JSON object: everything, with gauges and metadata, or only that of a node."""
        if node is not None:
            return _to_node(node).as_dict()
        result: dict[str, Any] = {"name": "root"}
        gauges = self._all_gauges()
        if gauges:
            result["gauges"] = {name: gauge.as_dict() for name, gauge in gauges.items()}
        if self.metadata:
            self.metadata["end_time_seconds"] = str(int(time.time()))
            result["metadata"] = dict(self.metadata)
        return as_written_by_release({**result, **self.get_root().as_dict()})

    def set_gauge(self, name: str, value: float) -> None:
        """Add a reading; readings that are not finite are left out."""
        finite = math.isfinite(value)  # raises TypeError for other types, as the toolkit does
        self.recorder.gauge(name, float(value))  # counts a reading that is not finite as lost
        if not finite:
            return
        if not isinstance(value, (int, float)):  # a NumPy scalar, which JSON does not know
            value = float(value)
        gauge = self.gauges.get(name)
        if gauge is None:
            self.gauges[name] = GaugeNode(value)
        else:
            gauge.update(value)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a fact about the program."""
        self.metadata[key] = value

    def _all_gauges(self) -> dict[str, GaugeNode]:
        gauges: dict[str, GaugeNode] = {}
        for stack in (self, *self._other_stacks()):
            merge_into(gauges, stack.gauges)
        return gauges

    def _update(self) -> StackTree:
        """Update the tree."""
        with LOCK:
            tree = self._tree
            tree.collect(self.extra_at)
            tree.clear()
            tallies = self.tallies()
            nodes: dict[int, TimerNode] = {}
            open_nodes: set[int] = set()
            if tallies is None:
                tree.root.total = tree.root.self_time = time.perf_counter() - self.start_time
                tree.root.count = 1
            else:
                own_trees, concurrent = self._own_trees(tallies), self._concurrent_trees(tallies)
                growth = Growth(tallies, own_trees, concurrent, self._first_tallies)
                growth.grow(tree.root, is_alive=self._last_tallies is None and self._is_alive())
                nodes, open_nodes = growth.nodes, growth.open_nodes()
            add_extras(tree.root, nodes, self.extras, tree.root)
            for stack in self._other_stacks():
                stack.collect()
                add_extras(tree.root, nodes, stack.extras, None)
            tree.prune(nodes, open_nodes)
            tree.take_snapshots(nodes)
            return tree

    # The trees of the recorder that the stack contains: here all of them.

    def _own_trees(self, tallies: Tallies) -> set[int]:
        """Return the trees whose roots are the stack's root: the first, its thread's."""
        return set(list(tallies.threads)[:1])

    def _concurrent_trees(self, tallies: Tallies) -> set[int]:
        """Return the trees of other threads, which appear where those were started."""
        return set(list(tallies.threads)[1:])

    def _other_stacks(self) -> Iterable[TimerStack]:
        """Return the stacks of those threads."""
        return ()

    def _is_alive(self) -> bool:
        """Tell whether the stack's thread still runs."""
        return True


def _to_node(node: Timings) -> TimerNode:
    if isinstance(node, TimerNode):
        return node
    copy = TimerNode()
    copy.merge(node, is_parallel=False)
    return copy


class Threads:
    """The stacks of this process's threads, all on the program's recorder.

    The main thread's stack also contains the other threads, where they were started, except for those that the program
    accessed by `get_timer_stack_for_thread` to merge them itself.
    """

    def __init__(self) -> None:
        self._forked = False
        self._start()
        os.register_at_fork(after_in_child=self._after_fork)

    def _start(self) -> None:
        self._local = threading.local()
        self._stacks: weakref.WeakKeyDictionary[threading.Thread, TimerStack] = weakref.WeakKeyDictionary()
        self._claimed: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._claimed_trees: set[int] = set()
        self._parent_process_trees: set[int] = set()
        self._orphaned_gauges: dict[str, GaugeNode] = {}
        self._orphaned_extras: dict[int, TimerNode] = {}
        self._timers = Timers(current.recorder, self)

    def extra_at(self, ref: int) -> TimerNode:
        """Return the calling thread's additions to a node."""
        return self.here().extra_at(ref)

    def node_at(self, ref: int) -> TimerNode:
        """Return the current tree of a node in the calling thread's stack."""
        return self.here().node_at(ref)

    def snapshot_node_at(self, ref: int) -> TimerNode:
        """Return the same node, as the calling thread last got it."""
        return self.here().snapshot_node_at(ref)

    def _after_fork(self) -> None:
        """Start with empty timers in the child: none of the parent's other threads exists there."""
        self._start()
        self._forked = True

    def here(self) -> TimerStack:
        """Return the stack of the calling thread."""
        try:
            stack: TimerStack = self._local.stack
        except AttributeError:
            stack = self._local.stack = self._begin()
        return stack

    def of(self, thread: threading.Thread) -> TimerStack | None:
        """Return a thread's stack for the program to merge; None if it never used a timer."""
        with LOCK:
            stack = self._stacks.get(thread)
            if stack is not None and thread is not threading.main_thread():
                self._claimed.add(thread)
                self._claimed_trees |= stack.trees()
            return stack

    def claimed_trees(self) -> set[int]:
        """Return the trees of the threads that the program merges itself."""
        with LOCK:
            for thread in list(self._claimed):
                stack = self._stacks.get(thread)
                if stack is not None and thread.is_alive():
                    self._claimed_trees |= stack.trees()
            return self._claimed_trees | self._parent_process_trees

    def unclaimed(self) -> list[TimerStack]:
        """Return the stacks of the other threads, without those that the program merges itself."""
        with LOCK:
            main = threading.main_thread()
            return [
                stack
                for thread, stack in list(self._stacks.items())
                if thread is not main and thread not in self._claimed
            ]

    def _begin(self) -> TimerStack:
        current.enable_unsaved()
        thread = threading.current_thread()
        is_main = thread is threading.main_thread()
        stack = _ThreadStack(self, self._timers, thread)
        with LOCK:
            if self._forked or not is_main:
                tallies = stack.tallies()
                if self._forked and not self._stacks and tallies is not None:
                    self._parent_process_trees = set(tallies.threads) - stack._own_trees(tallies)
                self._end_stacks_of_dead_threads(tallies)
                # It may continue the tree of another thread or process, whose part does not belong to it.
                stack.begin_after(tallies)
            if is_main:
                stack.gauges, stack.extras = self._orphaned_gauges, self._orphaned_extras
            else:
                weakref.finalize(thread, self._keep_records, weakref.ref(thread), stack).atexit = False
            self._stacks[thread] = stack
        return stack

    def _end_stacks_of_dead_threads(self, tallies: Tallies | None) -> None:
        """Finish the stacks of threads that have ended, before a new thread continues their trees."""
        for thread, stack in list(self._stacks.items()):
            if not thread.is_alive():
                stack.end_with(tallies)

    def _keep_records(self, _thread: object, stack: TimerStack) -> None:
        """Move the gauges and additions of a deleted thread to the main thread."""
        with LOCK:
            if stack.trees() & self._claimed_trees:
                return
            stack.collect()
            main = self._stacks.get(threading.main_thread())
            merge_into(main.gauges if main else self._orphaned_gauges, stack.gauges)
            extras = main.extras if main else self._orphaned_extras
            for ref, extra in stack.extras.items():
                if ref:
                    extras.setdefault(ref, TimerNode()).merge(extra, is_parallel=False)


class _ThreadStack(TimerStack):
    """One thread's part of the program's recorder."""

    def __init__(self, threads: Threads, timers: Timers, thread: threading.Thread) -> None:
        super().__init__(current.recorder, timers)
        self._threads = threads
        self._thread = weakref.ref(thread)
        self._native_id = threading.get_native_id()
        self._is_main = thread is threading.main_thread()
        self._start_node = Origin(current.recorder).node

    def _own_trees(self, tallies: Tallies) -> set[int]:
        own_trees = {tree for tree, native_id in tallies.threads.items() if native_id == self._native_id}
        if self._start_node in tallies.places:
            own_trees.add(tallies.places[self._start_node].tree)
        return own_trees

    def _concurrent_trees(self, tallies: Tallies) -> set[int]:
        own_trees, claimed = self._own_trees(tallies), self._threads.claimed_trees()
        shown = set(own_trees)
        for tree_node in tallies.places.values():  # the parent node of a tree is older than the tree
            if (
                tree_node.is_root
                and tree_node.tree not in claimed
                and self._is_shown(tree_node.parent, shown, tallies)
            ):
                shown.add(tree_node.tree)
        return shown - own_trees

    def _is_shown(self, parent: int, shown: set[int], tallies: Tallies) -> bool:
        return tallies.places[parent].tree in shown if parent else self._is_main

    def _other_stacks(self) -> Iterable[TimerStack]:
        return self._threads.unclaimed() if self._is_main else ()

    def _is_alive(self) -> bool:
        thread = self._thread()
        return thread is not None and thread.is_alive()


threads = Threads()
