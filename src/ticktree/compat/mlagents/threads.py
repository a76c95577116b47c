"""Threads: the stack of each thread that uses timers, and whose recorded trees are whose."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ticktree.compat.mlagents.gauge import GaugeNode, merge_into
from ticktree.compat.mlagents.live import Timers
from ticktree.compat.mlagents.node import TimerNode
from ticktree.compat.mlagents.stack import LOCK, TimerStack
from ticktree.recorder import Origin
from ticktree.session import current

if TYPE_CHECKING:
    from ticktree.run.reading.tallies import Tallies


class Threads:
    """The stacks of this process's threads, all on the program's own recorder.

    The main thread's stack shows the other threads as well, where they were started, but for those that the program
    asked for by `get_timer_stack_for_thread`: those it merges itself.
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
        """In the child: its timers begin anew, and of the parent's threads none exists here."""
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
        view = _View(self, thread, is_main)
        stack = TimerStack(current.recorder, view, self._timers)
        with LOCK:
            if self._forked or not is_main:
                tallies = stack.tallies()
                if self._forked and not self._stacks and tallies is not None:
                    self._gone = set(tallies.threads) - view.mine(tallies)
                self._end_dead(tallies)
                # A tree that it goes on with after another thread, or another process, is not all its own.
                stack.begin_after(tallies)
            if is_main:
                stack.gauges, stack.extras = self._left_gauges, self._left_extras
            else:
                weakref.finalize(thread, self._outlive, weakref.ref(thread), stack).atexit = False
            self._stacks[thread] = stack
        return stack

    def _end_dead(self, tallies: Tallies | None) -> None:
        """Settle the stacks of threads that have ended before a new thread goes on with their trees."""
        for thread, stack in list(self._stacks.items()):
            if not thread.is_alive():
                stack.end_with(tallies)

    def _outlive(self, _thread: object, stack: TimerStack) -> None:
        """Keep for the main thread what a thread has left that nobody can ask for any more."""
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


class _View:
    """What a thread's stack shows of the program's recorder."""

    def __init__(self, threads: Threads, thread: threading.Thread, is_main: bool) -> None:
        self._threads = threads
        self._thread = weakref.ref(thread)
        self._native_id = threading.get_native_id()
        self._is_main = is_main
        self._home = Origin(current.recorder).node

    def mine(self, tallies: Tallies) -> set[int]:
        mine = {tree for tree, native_id in tallies.threads.items() if native_id == self._native_id}
        if self._home in tallies.places:
            mine.add(tallies.places[self._home].tree)
        return mine

    def beside(self, tallies: Tallies) -> set[int]:
        mine, claimed = self.mine(tallies), self._threads.claimed_trees()
        shown = set(mine)
        for place in tallies.places.values():  # a tree hangs under a node that is older than itself
            if place.is_root and place.tree not in claimed and self._is_shown(place.parent, shown, tallies):
                shown.add(place.tree)
        return shown - mine

    def _is_shown(self, spawn: int, shown: set[int], tallies: Tallies) -> bool:
        return tallies.places[spawn].tree in shown if spawn else self._is_main

    def others(self) -> Iterable[TimerStack]:
        return self._threads.unclaimed() if self._is_main else ()

    def lives(self) -> bool:
        thread = self._thread()
        return thread is not None and thread.is_alive()


threads = Threads()
