"""Lines of execution, each with its own open calls: the player of a program reports them to the reference."""

from __future__ import annotations

from typing import Any

from support.recorder.reference import Call, Path, Reference


class CallStack:
    """One stack of calls.

    Args:
        reference: Where they are noted.
        consumer: The stack that runs this one, where it runs inside another (a generator, `Context.run`).
        call: What the lowest call covers, while it is open (a task).
        path: The parent of the lowest call, where there is no consumer.
        thread: Which thread runs it.
        is_main: Whether it is the stack that enables the recorder, whose sections are the run's own.
        is_generator: Whether its consumer is whoever resumed it last.
        things: The generators that may be resumed here.
    """

    def __init__(
        self,
        reference: Reference,
        *,
        consumer: CallStack | None = None,
        call: Call | None = None,
        path: Path = (),
        thread: int = 0,
        is_main: bool = False,
        is_generator: bool = False,
        things: list[Any] | None = None,
    ) -> None:
        self.reference = reference
        self.consumer = consumer
        self.call, self.path = call, path
        self.thread = thread
        self.is_main = is_main
        self.is_generator = is_generator
        self.things: list[Any] = [] if things is None else things
        self.tasks: list[Any] = consumer.tasks if consumer else []
        self.lane: Any = consumer.lane if consumer else None
        self.is_thread = False
        self.depth = 0
        self.stack: list[Call] = []

    def place(self) -> tuple[Call | None, Path]:
        """What a call entered now covers, and where it hangs: a lost call is covered by what is around it."""
        call, path = self.around()
        while call and call.lost:
            call = call.parent if call.parent and not call.parent.left else None
        return call, path

    def around(self) -> tuple[Call | None, Path]:
        """The call that is open around one entered now, and the path of its node, or of where its time stays."""
        self.stack = [call for call in self.stack if not call.left]  # `disable` left them all
        if self.stack:
            return self.stack[-1], self.stack[-1].path
        if self.consumer:  # a context's stack begins under what is recorded; a generator has none of its own
            return self.consumer.around() if self.is_generator else self.consumer.place()
        call = self.reference.root if self.is_main else self.call
        return (call, self.path) if call and not call.left else (None, self.path)

    def ends(self, *kinds: str) -> bool:
        """Whether a stage or tick begun here ends with a call of these kinds of this stack, or with the program."""
        self.place()
        return self.is_main or any(call.kind in kinds for call in self.stack)

    def enter(self, name: str, kind: str = "section") -> Call | None:
        """Enters a call; None while nothing is recorded."""
        self.reference.ask(name)
        if not self.reference.recording:
            return None
        around, path = self.around()
        call = self.reference.enter((*path, name), around, kind, self.thread, within=around)
        self.stack.append(call)
        return call

    def leave(self, call: Call | None) -> None:
        """Leaves a section, and what in it has no end of its own: stages, and ticks cut short."""
        if not self.reference.recording:
            return
        if call is None or call.left:
            self.reference.losses["unmatched_leaves"] += 1
            return
        self.close_to(call)

    def record(self, name: str, ns: int) -> None:
        """A duration measured elsewhere, under what is open here."""
        self.reference.ask(name, recorded=True)
        if self.reference.recording:
            around, path = self.around()
            self.reference.record((*path, name), ns, self.thread, within=around)

    def stage(self, name: str) -> None:
        """From here on `name`."""
        self.reference.ask(name)
        if self.reference.recording:
            self.place()
            if self.stack and self.stack[-1].kind == "stage":
                self.reference.leave(self.stack.pop())
            self.enter(name, "stage")

    def tick(self, name: str) -> None:
        """A boundary of a loop whose `for` is somebody else's."""
        mark = self.reference.ask(name)
        if not self.reference.recording:
            return
        self.place()
        for call in reversed(self.stack):
            if call.kind == "section":
                break
            if call.kind == "tick" and call.name == mark:
                self.close_to(call)
                break
        self.reference.begin_steady(self.enter(name, "tick"))

    def next_tick(self, name: str, before: Call | None, warmup: int, *, has_item: bool = True) -> Call | None:
        """A boundary of a loop's own: ends the tick before it and begins the next, for which there may be no item."""
        self.reference.ask(name)
        if not self.reference.recording:
            return None
        if before and not before.left:
            self.close_to(before)
        call = self.enter(name, "tick")
        if call and warmup and not call.lost:
            self.reference.ask_warmup(call, warmup)
        if has_item:
            self.reference.begin_steady(call)
        return call

    def end_tick(self, tick: Call | None, *, void: bool) -> None:
        """A loop is over: its last tick is incomplete, or never was."""
        if self.reference.recording and tick and not tick.left:
            self.close_to(tick, cut="void" if void else "incomplete")

    def close_to(self, call: Call, cut: str = "") -> None:
        """Closes `call` and all above it."""
        while self.stack[-1] is not call:
            above = self.stack.pop()
            assert above.kind in ("stage", "tick"), f"{above.path} is left out of order"
            self._close(above, "" if above.kind == "stage" else "incomplete")
        self._close(self.stack.pop(), cut)

    def _close(self, call: Call, cut: str) -> None:
        self.reference.leave(call, counted=not cut)
        if call.kind != "tick" or call.lost:
            return
        if cut == "incomplete":
            self.reference.incomplete[call.path] += 1
        if not cut:
            self.reference.end_warmup(call)
