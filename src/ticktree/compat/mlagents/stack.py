"""TimerStack: timers of one thread, or of a recorder of their own."""

from __future__ import annotations

import math
import sys
import time
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from ticktree.compat.mlagents.gauge import GaugeNode, merge_into
from ticktree.compat.mlagents.live import OpenTimer, PushedTimer, StackRoot, Timer, Timers
from ticktree.compat.mlagents.node import TimerNode, Timings
from ticktree.recorder import Recorder as AnyRecorder
from ticktree.session import Recorder

if TYPE_CHECKING:
    from ticktree.compat.mlagents.growth import Growth
    from ticktree.run.reading.tallies import Tallies

TIMER_FORMAT_VERSION = "0.1.0"

_ROOT = 0


class View(Protocol):
    """What of a recorder a stack shows."""

    def mine(self, tallies: Tallies) -> set[int]:
        """The trees whose roots are the stack's root."""

    def beside(self, tallies: Tallies) -> set[int]:
        """The trees of other threads that are shown where those were started."""

    def others(self) -> Iterable[TimerStack]:
        """The stacks of those others."""

    def lives(self) -> bool:
        """Whether the stack's thread can still pass time."""


class TimerStack:
    """Timers, gauges and metadata, as one file holds them.

    One that is made by hand has a recorder of its own, and holds what any thread times with it.

    Args:
        recorder: What records; by default a new one.
        view: What of it the stack shows; by default everything.
        timers: The recorder's timers; by default those of the stack alone.

    Attributes:
        recorder: what records.
        timers: by name, to be entered.
        gauges: by name.
        metadata: what is known of the program.
        start_time: when the stack was made or reset, as `time.perf_counter` has it.
    """

    def __init__(
        self, recorder: AnyRecorder | None = None, view: View | None = None, timers: Timers | None = None
    ) -> None:
        if recorder is None:
            recorder = Recorder()
            weakref.finalize(self, recorder.disable).atexit = False  # what is installed for it keeps it alive
        self.recorder: AnyRecorder = recorder
        self.timers = Timers(recorder, self) if timers is None else timers
        self._view: View = _Everything() if view is None else view
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
        if not data:
            return None
        from ticktree.run.reading.tallies import (
            Tallies,  # here, because a program that only records can do without
        )

        return Tallies(data)

    def trees(self) -> set[int]:
        """Return the recorder's trees that are the stack's own."""
        tallies = self.tallies()
        return self._view.mine(tallies) if tallies else set()

    def push(self, name: str) -> OpenTimer:
        """Enter a timer; `pop` leaves it. Prefer `hierarchical_timer`, which nobody can leave out of order."""
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

        It does not change any more, and can be sent to another process. What is merged into it is merged into the
        stack as well.
        """
        root = StackRoot(self.extra_at(_ROOT))
        self._grown(root)
        return root

    def node_at(self, ref: int) -> TimerNode:
        """Return the tree from one of the recorder's nodes on."""
        root = TimerNode()
        growth = self._grown(root)
        return growth.nodes.get(ref, root) if growth else root

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
        return {**result, **self.get_root().as_dict()}

    def set_gauge(self, name: str, value: float) -> None:
        """Add a reading; those that are no finite number are left out."""
        value = float(value)
        self.recorder.gauge(name, value)  # counts what is not finite as lost
        if not math.isfinite(value):
            return
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
        for stack in (self, *self._view.others()):
            merge_into(gauges, stack.gauges)
        return gauges

    def _grown(self, root: TimerNode) -> Growth | None:
        """Let the tree by now grow from `root`."""
        tallies = self.tallies()
        if tallies is None:
            root.total = root.own = time.perf_counter() - self.start_time
            root.count = 1
            return None
        from ticktree.compat.mlagents.growth import Growth

        mine, beside = self._view.mine(tallies), self._view.beside(tallies)
        growth = Growth(tallies, mine, beside, self._before)
        growth.grow(root, lives=self._last is None and self._view.lives())
        growth.add(self.extras, root)
        for stack in self._view.others():
            growth.add(stack.extras, None)
        growth.prune(root)
        return growth


class _Everything:
    """The view of a recorder that nobody else uses: the first tree is of who made it, the others are beside it."""

    def mine(self, tallies: Tallies) -> set[int]:
        return set(list(tallies.threads)[:1])

    def beside(self, tallies: Tallies) -> set[int]:
        return set(list(tallies.threads)[1:])

    def others(self) -> Iterable[TimerStack]:
        return ()

    def lives(self) -> bool:
        return True


def _plain(node: Timings) -> TimerNode:
    if isinstance(node, TimerNode):
        return node
    copy = TimerNode()
    copy.merge(node, is_parallel=False)
    return copy
