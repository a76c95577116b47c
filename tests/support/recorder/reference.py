"""A slow and obviously correct recorder: it keeps every call, and sums by the definition of the times.

Nothing here counts while the program runs. Whoever tells of a call says itself what it hangs under; what the native
recorder must find out (contexts, generators, threads), the reference is told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from ticktree.profile.histogram import Histogram

Path = tuple[str, ...]
LoopKey = tuple[Path, int]  # and the thread that runs it


@dataclass(frozen=True, order=True)
class Moment:
    """An instant of the clock; `order` tells apart what happened at the same."""

    order: int
    ns: int


@dataclass(eq=False)
class Call:
    """One call of a section, a stage, or one tick of a loop.

    Attributes:
        parent: The call it covers while it is open; None for what covers none.
        left: None while it is open.
        counted: Whether it ended in its own time, and so is a completed call.
        thread: Whose tree it is in.
        name: What tells it from other calls; "" past the cap of names.
        lost: Whether it has no node; `path` is then that of the node its time stays in.
        recorded_ns: What it took, if that was measured elsewhere.
    """

    path: Path
    kind: str
    parent: Call | None
    entered: Moment
    thread: int = 0
    name: str = ""
    lost: bool = False
    recorded_ns: int = 0
    left: Moment | None = None
    counted: bool = False
    forgotten: bool = False
    warm: bool = False


@dataclass
class Sums:
    """What one node holds."""

    self_ns: int = 0
    concurrent_ns: int = 0
    durations: list[int] = field(default_factory=list)
    warm_durations: list[int] = field(default_factory=list)
    ages: list[int] = field(default_factory=list)


class Reference:
    """Every call of a program, on a clock of its own.

    Args:
        nodes: How many nodes there may be, the root among them.
        names: How many names there may be: a name that is also recorded as a duration counts twice.
        depth: How many levels of nodes there may be below the root.
    """

    def __init__(self, nodes: int = 4096, names: int = 4096, depth: int = 256) -> None:
        self.caps = nodes, names, depth
        self.known: set[tuple[str, bool]] = set()
        self.made: set[tuple[Path, bool]] = {((), False)}
        self.now_ns = 0
        self.calls: list[Call] = []
        self.losses: Counter[str] = Counter()
        self.incomplete: Counter[Path] = Counter()
        self.warmups: dict[LoopKey, int] = {}
        self.warmed: set[LoopKey] = set()
        self.due: set[LoopKey] = set()
        self.phased: set[LoopKey] = set()
        self.recording = False
        self.root: Call | None = None
        self._order = 0

    def moment(self) -> Moment:
        """The next instant: later than all before it, whatever the clock says."""
        self._order += 1
        return Moment(self._order, self.now_ns)

    def advance(self, ns: int) -> None:
        """Moves the clock on."""
        self.now_ns += ns

    def ask(self, name: str, *, recorded: bool = False) -> str:
        """The name, as far as there is room for it: past the cap it is ""."""
        if len(self.known) < self.caps[1]:
            self.known.add((name, recorded))
        return name if (name, recorded) in self.known else ""

    def enter(
        self,
        path: Path,
        parent: Call | None,
        kind: str = "section",
        thread: int = 0,
        *,
        within: Call | None = None,
    ) -> Call:
        """Notes a call at `path`, covering `parent`; it is lost `within` a lost one, and past a cap."""
        name = self.ask(path[-1], recorded=kind == "record") if path else ""
        lost = bool(path) and (not name or bool(within and within.lost) or not self._room(path, kind))
        if lost:
            self.losses["calls_over_node_cap" if name else "calls_over_name_cap"] += 1
        call = Call(path[:-1] if lost else path, kind, parent, self.moment(), thread, name, lost)
        self.calls.append(call)
        return call

    def _room(self, path: Path, kind: str) -> bool:
        """Whether there is a node for this path, which is made at need."""
        nodes, _, depth = self.caps
        if len(self.made) < nodes and len(path) <= depth:
            self.made.add((path, kind == "record"))
        return (path, kind == "record") in self.made

    def leave(self, call: Call, *, counted: bool = True) -> None:
        """Notes the end of a call."""
        call.left, call.counted = self.moment(), counted

    def record(self, path: Path, ns: int, thread: int = 0, *, within: Call | None = None) -> None:
        """A duration measured elsewhere: it covers nothing."""
        call = self.enter(path, None, "record", thread, within=within)
        call.left, call.counted, call.recorded_ns = call.entered, True, ns

    def enable(self) -> None:
        """The run's self time passes from now on."""
        if not self.recording:
            self.recording = True
            self.root = self.enter((), None, "root")

    def disable(self) -> None:
        """Leaves all that is open, youngest first; none of it is a completed call, and a tick is incomplete."""
        self.recording = False
        for call in self._open_youngest_first():
            self.leave(call, counted=False)
            self.incomplete[call.path] += call.kind == "tick" and not call.lost

    def reset(self) -> None:
        """What was is as if it had taken no time; what is open begins now."""
        now = self.now_ns
        for call in self.calls:
            call.entered = Moment(call.entered.order, now)
            if call.left:
                call.left, call.forgotten = Moment(call.left.order, now), True
            call.recorded_ns = 0
        self.warmed.clear()
        self.due.clear()
        self.phased.clear()
        self.losses.clear()
        self.incomplete.clear()

    def ask_warmup(self, tick: Call, ticks: int) -> None:
        """The first ticks of this loop are warm-up: the most that anybody asked for, unless it is over."""
        loop = (tick.path, tick.thread)
        if loop not in self.warmed:
            self.warmups[loop] = max(ticks, self.warmups.get(loop, 0))

    def end_warmup(self, tick: Call) -> None:
        """Where a tick was the last of the warm-up, it is over once the next one begins."""
        loop = (tick.path, tick.thread)
        ticks = [call for call in self._below(loop) if call.kind == "tick" and call.path == tick.path]
        if sum(call.counted and not call.forgotten for call in ticks) == self.warmups.get(loop):
            self.warmed.add(loop)
            self.due.add(loop)

    def begin_steady(self, tick: Call | None) -> None:
        """Where a tick is the first after the warm-up, all that completed there so far is of another phase."""
        loop = (tick.path, tick.thread) if tick and not tick.lost else None
        if loop in self.due:
            self.due.remove(loop)
            for call in self._below(loop):
                call.warm = call.left is not None
            self.phased |= {(call.path, call.thread) for call in self._below(loop) if call.kind == "tick"}

    def recorded(self) -> list[Call]:
        """The calls that are not lost."""
        return [call for call in self.calls if not call.lost]

    def open_calls(self) -> int:
        """How many calls are open, lost or not."""
        return sum(not call.left for call in self.calls)

    def _below(self, loop: LoopKey) -> list[Call]:
        """A loop's calls and those inside them; what `record` filed under its name is beside it."""
        path, thread = loop
        inside = [
            call for call in self.recorded() if call.thread == thread and call.path[: len(path)] == path
        ]
        return [call for call in inside if call.kind != "record" or call.path != path]

    def nodes(self) -> dict[Path, Sums]:
        """The tree of this moment."""
        ends = {call: call.left for call in self.calls if call.left}
        ends |= {call: self.moment() for call in self._open_youngest_first()}
        sums: dict[Path, Sums] = defaultdict(Sums)
        sums[()]  # there is always a root
        children: dict[Call | None, list[Call]] = defaultdict(list)
        for call in self.recorded():
            children[call.parent].append(call)
        counts_as_steady = self._loops_counted_steady()
        for call in self.recorded():
            is_warm = call.warm and not counts_as_steady.get(self._loop_of(call, counts_as_steady))
            self._add(sums, call, ends, children[call], is_warm=is_warm)
        return dict(sums)

    def _loops_counted_steady(self) -> dict[LoopKey | None, bool]:
        """Whether all ticks of a loop are warm-up and no enclosing loop is past its own: then they count as steady."""
        ticks: dict[LoopKey, list[Call]] = defaultdict(list)
        for call in self.recorded():
            if call.kind == "tick":
                ticks[call.path, call.thread].append(call)
        counts_as_steady: dict[LoopKey | None, bool] = {}
        in_steady: dict[LoopKey | None, bool] = {None: False}
        for loop in sorted(ticks, key=lambda loop: len(loop[0])):
            around = _innermost(loop[0][:-1], loop[1], ticks)
            calls = [call for call in ticks[loop] if call.left and call.counted and not call.forgotten]
            counts_as_steady[loop] = (
                bool(calls) and all(call.warm for call in calls) and not in_steady[around]
            )
            in_steady[loop] = in_steady[around] or (loop in self.phased and not counts_as_steady[loop])
        return counts_as_steady

    def _loop_of(self, call: Call, loops: Container[LoopKey | None]) -> LoopKey | None:
        """The innermost of the loops that a call is in, or a tick of."""
        return _innermost(call.path[:-1] if call.kind == "record" else call.path, call.thread, loops)

    def _add(
        self,
        sums: dict[Path, Sums],
        call: Call,
        ends: dict[Call, Moment],
        children: list[Call],
        *,
        is_warm: bool,
    ) -> None:
        duration = ends[call].ns - call.entered.ns + call.recorded_ns
        entry = sums[call.path]
        entry.self_ns += duration
        if call.path:
            entry.concurrent_ns += duration
        for group in overlapping(children, ends):
            begin, end = group[0].entered.ns, min(ends[call], max(ends[child] for child in group))
            entry.self_ns -= end.ns - begin
            # The child that leaves last stands for the whole stretch; had none left by the end, the one entered
            # latest pays for it.
            last = max(group, key=ends.__getitem__)
            payer = last if ends[last] < ends[call] else group[-1]
            sums[payer.path].concurrent_ns -= end.ns - begin
        if call.left is None:
            entry.ages.append(duration)
        elif call.counted and not call.forgotten:
            (entry.warm_durations if is_warm else entry.durations).append(duration)

    def _open_youngest_first(self) -> list[Call]:
        return sorted(
            (call for call in self.calls if not call.left), key=lambda call: call.entered, reverse=True
        )


def _innermost(path: Path, thread: int, loops: Container[LoopKey | None]) -> LoopKey | None:
    """The loop of a thread that is at a path, or the nearest above it."""
    above = ((path[:end], thread) for end in range(len(path), 0, -1))
    return next((loop for loop in above if loop in loops), None)


def overlapping(children: Iterable[Call], ends: dict[Call, Moment]) -> Iterator[list[Call]]:
    """Groups of calls without a moment between them at which none is open, each in the order of entering."""
    group: list[Call] = []
    for child in sorted(children, key=lambda call: call.entered):
        if group and child.entered > max(ends[member] for member in group):
            yield group
            group = []
        group.append(child)
    if group:
        yield group


def totals(nodes: dict[Path, Sums]) -> dict[Path, int]:
    """Every node's total: its self time, and of its children's what did not run beside others'."""
    self_ns = {path: sums.self_ns for path, sums in nodes.items()}
    for path in sorted(self_ns, key=len, reverse=True):
        if path:
            self_ns[path[:-1]] += self_ns[path] - nodes[path].concurrent_ns
    return self_ns


def histogram(durations: Iterable[int]) -> dict[int, int]:
    """Buckets of these durations."""
    return dict(Histogram.of(durations).buckets)
