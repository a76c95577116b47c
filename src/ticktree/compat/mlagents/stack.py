"""TimerStack: timers of one thread, or of an own recorder."""

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
from ticktree.recorder import Recorder as AnyRecorder
from ticktree.run.reading.accounts import Tallies
from ticktree.session import Recorder, current

# Not at the first access to a tree: a program's second thread makes it within its first timer, and what is
# imported there takes a tenth of a second of that timer.

TIMER_FORMAT_VERSION = "0.1.0"


class _Lock:
    """One lock for all stacks: the main thread's stack reads those of the others, in a program that forks as well."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()  # a thread that does not exist here may hold the parent's

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


LOCK = _Lock()


class TimerStack:
    """Timers, gauges and metadata, as one file holds them.

    One that is made by hand has its own recorder, and holds what any thread times with it.

    Args:
        recorder: What records; by default a new one.
        timers: The recorder's timers; by default those of the stack alone.

    Attributes:
        recorder: what records.
        timers: by name, to be entered.
        gauges: by name.
        metadata: what is known of the program.
        start_time: when the stack was made or reset, as `time.perf_counter` has it.
    """

    def __init__(self, recorder: AnyRecorder | None = None, timers: Timers | None = None) -> None:
        if recorder is None:
            recorder = Recorder()
            weakref.finalize(self, recorder.disable).atexit = False  # what is installed for it keeps it alive
        self.recorder: AnyRecorder = recorder
        self.timers = Timers(recorder, self) if timers is None else timers
        self._before: Tallies | None = None
        self._last: Tallies | None = None
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
        """Forget the timers, gauges and metadata; open timers begin again now.

        What the recorder holds, and `ticktree report` shows, is not forgotten.
        """
        self.begin_after(self.tallies())
        self._begin()

    def begin_after(self, tallies: Tallies | None) -> None:
        """Leave out what was booked by then."""
        self._before = tallies

    def end_with(self, tallies: Tallies | None) -> None:
        """Leave out what will be booked from then on: others write the trees of a thread that has ended."""
        self._last = self._last or tallies

    def tallies(self) -> Tallies | None:
        """Return what is booked by now; None before anything was ever recorded."""
        if self._last is not None:
            return self._last
        data = self.recorder.image()
        return Tallies(data) if data else None

    def trees(self) -> set[int]:
        """Return the recorder's trees that are the stack's own."""
        tallies = self.tallies()
        return self._mine(tallies) if tallies else set()

    def push(self, name: str) -> OpenTimer:
        """Enter a timer; `pop` leaves it. Prefer `hierarchical_timer`, which cannot be left out of order."""
        timer = self._pushing[name]
        self._pushed.append(timer)
        return timer.__enter__()

    def pop(self) -> None:
        """Leave the timer that was pushed last; nothing, where there is none."""
        if self._pushed:
            self._pushed.pop().__exit__(None, None, None)

    def extra_at(self, ref: int) -> TimerNode:
        """Return what is merged or added by hand at a node of the recorder; 0 is the root."""
        return self.extras.setdefault(ref, TimerNode())

    @property
    def root(self) -> TimerNode:
        """The tree by now, as `get_root` returns it."""
        return self.get_root()

    def get_root(self) -> TimerNode:
        """Return the tree by now, open timers with their time so far.

        It is the same object until `reset`, brought up to date at each access, and can be sent to another
        process. What the program adds to it or assigns in it is kept, and is in no recording.
        """
        return self._updated().root

    def node_at(self, ref: int) -> TimerNode:
        """Return the tree from one of the recorder's nodes on."""
        tree = self._updated()
        return tree.nodes.get(ref, tree.root)

    def given_at(self, ref: int) -> TimerNode:
        """Return the same node as the program last got it."""
        return self._tree.nodes.get(ref) or self.node_at(ref)

    def collect(self) -> None:
        """Find out what the program added to its tree or assigned in it."""
        with LOCK:
            self._tree.collect(self.extra_at)
            self._tree.give(self._tree.nodes)

    def get_timing_tree(self, node: Timings | None = None) -> dict[str, Any]:
        """Return a tree to be written as JSON: of everything, with gauges and metadata, or from a node on."""
        if node is not None:
            return _plain(node).as_dict()
        result: dict[str, Any] = {"name": "root"}
        gauges = self._all_gauges()
        if gauges:
            result["gauges"] = {name: gauge.as_dict() for name, gauge in gauges.items()}
        if self.metadata:
            self.metadata["end_time_seconds"] = str(int(time.time()))
            result["metadata"] = dict(self.metadata)
        return as_written_by_release({**result, **self.get_root().as_dict()})

    def set_gauge(self, name: str, value: float) -> None:
        """Add a reading; those that are no finite number are left out."""
        finite = math.isfinite(value)  # raises TypeError for what is no number, as the toolkit does
        self.recorder.gauge(name, float(value))  # counts what is not finite as lost
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
        """Note something about the program."""
        self.metadata[key] = value

    def _all_gauges(self) -> dict[str, GaugeNode]:
        gauges: dict[str, GaugeNode] = {}
        for stack in (self, *self._others()):
            merge_into(gauges, stack.gauges)
        return gauges

    def _updated(self) -> StackTree:
        """Bring the tree up to date."""
        with LOCK:
            tree = self._tree
            tree.collect(self.extra_at)
            tree.clear()
            tallies = self.tallies()
            nodes: dict[int, TimerNode] = {}
            open_nodes: set[int] = set()
            if tallies is None:
                tree.root.total = tree.root.own = time.perf_counter() - self.start_time
                tree.root.count = 1
            else:
                mine, concurrent = self._mine(tallies), self._concurrent(tallies)
                growth = Growth(tallies, mine, concurrent, self._before)
                growth.grow(tree.root, lives=self._last is None and self._lives())
                nodes, open_nodes = growth.nodes, growth.open_nodes()
            add_extras(tree.root, nodes, self.extras, tree.root)
            for stack in self._others():
                stack.collect()
                add_extras(tree.root, nodes, stack.extras, None)
            tree.prune(nodes, open_nodes)
            tree.give(nodes)
            return tree

    # What of a recorder a stack shows: of its own everything.

    def _mine(self, tallies: Tallies) -> set[int]:
        """The trees whose roots are the stack's root: the first, its thread's."""
        return set(list(tallies.threads)[:1])

    def _concurrent(self, tallies: Tallies) -> set[int]:
        """The trees of other threads, which are shown where those were started."""
        return set(list(tallies.threads)[1:])

    def _others(self) -> Iterable[TimerStack]:
        """The stacks of those others."""
        return ()

    def _lives(self) -> bool:
        """Whether the stack's thread can still pass time."""
        return True


def _plain(node: Timings) -> TimerNode:
    if isinstance(node, TimerNode):
        return node
    copy = TimerNode()
    copy.merge(node, is_parallel=False)
    return copy


class Threads:
    """The stacks of this process's threads, all on the program's own recorder.

    The main thread's stack shows the other threads as well, where they were started, but for those that the program
    accessed by `get_timer_stack_for_thread`: those it merges itself.
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
        self._gone: set[int] = set()
        self._left_gauges: dict[str, GaugeNode] = {}
        self._left_extras: dict[int, TimerNode] = {}
        self._timers = Timers(current.recorder, self)

    def extra_at(self, ref: int) -> TimerNode:
        """Return what the calling thread has merged or added by hand at a node."""
        return self.here().extra_at(ref)

    def node_at(self, ref: int) -> TimerNode:
        """Return the tree from a node on, as the calling thread sees it."""
        return self.here().node_at(ref)

    def given_at(self, ref: int) -> TimerNode:
        """Return the same node as the calling thread last got it."""
        return self.here().given_at(ref)

    def _after_fork(self) -> None:
        """In the child: its timers begin at zero, and none of the parent's threads exists here."""
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
            return self._claimed_trees | self._gone

    def unclaimed(self) -> list[TimerStack]:
        """Return the stacks of the other threads, less those that the program merges itself."""
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
                    self._gone = set(tallies.threads) - stack._mine(tallies)
                self._end_dead(tallies)
                # A tree that it continues after another thread, or another process, is not all its own.
                stack.begin_after(tallies)
            if is_main:
                stack.gauges, stack.extras = self._left_gauges, self._left_extras
            else:
                weakref.finalize(thread, self._outlive, weakref.ref(thread), stack).atexit = False
            self._stacks[thread] = stack
        return stack

    def _end_dead(self, tallies: Tallies | None) -> None:
        """Settle the stacks of threads that have ended before a new thread continues their trees."""
        for thread, stack in list(self._stacks.items()):
            if not thread.is_alive():
                stack.end_with(tallies)

    def _outlive(self, _thread: object, stack: TimerStack) -> None:
        """Keep for the main thread the records of a thread whose stack can no longer be requested."""
        with LOCK:
            if stack.trees() & self._claimed_trees:
                return
            stack.collect()
            main = self._stacks.get(threading.main_thread())
            merge_into(main.gauges if main else self._left_gauges, stack.gauges)
            extras = main.extras if main else self._left_extras
            for ref, extra in stack.extras.items():
                if ref:
                    extras.setdefault(ref, TimerNode()).merge(extra, is_parallel=False)


class _ThreadStack(TimerStack):
    """What one thread sees of the program's recorder."""

    def __init__(self, threads: Threads, timers: Timers, thread: threading.Thread) -> None:
        super().__init__(current.recorder, timers)
        self._threads = threads
        self._thread = weakref.ref(thread)
        self._native_id = threading.get_native_id()
        self._is_main = thread is threading.main_thread()
        self._home = Origin(current.recorder).node

    def _mine(self, tallies: Tallies) -> set[int]:
        mine = {tree for tree, native_id in tallies.threads.items() if native_id == self._native_id}
        if self._home in tallies.places:
            mine.add(tallies.places[self._home].tree)
        return mine

    def _concurrent(self, tallies: Tallies) -> set[int]:
        mine, claimed = self._mine(tallies), self._threads.claimed_trees()
        shown = set(mine)
        for place in tallies.places.values():  # the parent node of a tree is older than the tree
            if place.is_root and place.tree not in claimed and self._is_shown(place.parent, shown, tallies):
                shown.add(place.tree)
        return shown - mine

    def _is_shown(self, spawn: int, shown: set[int], tallies: Tallies) -> bool:
        return tallies.places[spawn].tree in shown if spawn else self._is_main

    def _others(self) -> Iterable[TimerStack]:
        return self._threads.unclaimed() if self._is_main else ()

    def _lives(self) -> bool:
        thread = self._thread()
        return thread is not None and thread.is_alive()


threads = Threads()
