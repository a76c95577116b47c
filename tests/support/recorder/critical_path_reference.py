"""The expected critical path of threads that signal each other: computed backwards from the end, from all events."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

Place = tuple[str, tuple[str, ...]]  # a thread, and what was open there


@dataclass
class Call:
    """One open section."""

    path: tuple[str, ...]
    start: int
    wait: bool


@dataclass
class Jump:
    """The critical path of a thread came from another's: at `index`, from what that had done by `from_index`."""

    index: int
    time: int
    node: tuple[str, ...]
    source: str
    from_index: int
    from_time: int


@dataclass
class Thread:
    """One thread: what was open when, and where its path came from."""

    name: str
    open: list[Call] = field(default_factory=list)
    log: list[tuple[int, tuple[str, ...]]] = field(default_factory=lambda: [(0, ())])
    jumps: list[Jump] = field(default_factory=list)
    heard: int = 0  # when it last signalled, was unblocked, or started another
    unblocked: int = 0
    unblocked_in: Call | None = None
    touched: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """What is open."""
        return self.open[-1].path if self.open else ()


class Waiting:
    """Takes down the events of a run, and says what follows from them."""

    def __init__(self) -> None:
        self.now = 0
        self.index = 0
        self.threads = {"main": Thread("main")}
        self.signals: dict[str, tuple[int, int, str, tuple[str, ...]]] = {}
        self.edges: dict[tuple[Place, str, Place], list[int]] = defaultdict(lambda: [0, 0, 0])

    def enter(self, thread: str, name: str, *, wait: bool) -> None:
        state = self.threads[thread]
        state.open.append(Call((*state.path, name), self.now, wait))
        state.log.append((self.now, state.path))

    def leave(self, thread: str) -> None:
        state = self.threads[thread]
        state.open.pop()
        state.log.append((self.now, state.path))

    def start(self, thread: str, starter: str) -> None:
        self.index += 1
        self._hear(starter)
        new = self.threads[thread] = Thread(thread, heard=self.now, log=[(self.now, ())])
        new.jumps.append(Jump(self.index, self.now, (), starter, self.index, self.now))

    def wakes(self, thread: str, channel: str) -> None:
        self.index += 1
        self._hear(thread)
        self.threads[thread].touched = True
        self.signals[channel] = (self.index, self.now, thread, self.threads[thread].path)

    def woken_by(self, thread: str, channel: str) -> None:
        if channel not in self.signals:
            return
        self.index += 1
        from_index, signal_ns, waker, waker_path = self.signals[channel]
        state = self.threads[thread]
        call = next(
            (call for call in reversed(state.open) if call.wait), state.open[-1] if state.open else None
        )
        since = call.start if call else 0
        if state.unblocked_in is call:
            since = max(since, state.unblocked)
        node = call.path if call else ()
        edge = self.edges[(thread, node), channel, (waker, waker_path)]
        edge[0] += 1
        if signal_ns <= since:
            return
        edge[1] += self.now - since
        edge[2] += self.now - signal_ns
        state.unblocked, state.unblocked_in = self.now, call
        if signal_ns > state.heard:
            state.jumps.append(Jump(self.index, self.now, node, waker, from_index, signal_ns))
            self._hear(thread)
            state.touched = True

    def critical_path(self) -> dict[Place, int]:
        """Backwards from the main thread's now, to whoever it, and they, waited for last."""
        shares: dict[Place, int] = defaultdict(int)
        thread, until, index = "main", self.now, self.index + 1
        while True:
            state = self.threads[thread]
            jump = next((jump for jump in reversed(state.jumps) if jump.index < index), None)
            since = jump.time if jump else 0
            for (begin, path), (end, _) in zip(state.log, [*state.log[1:], (until, ())], strict=True):
                shares[thread, path] += max(0, min(end, until) - max(begin, since))
            if jump is None:
                return {key: ns for key, ns in shares.items() if ns}
            shares[thread, jump.node] += jump.time - jump.from_time
            thread, until, index = jump.source, jump.from_time, jump.from_index

    def _hear(self, thread: str) -> None:
        self.threads[thread].heard = self.now
