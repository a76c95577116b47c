"""Calls reported by `sys.monitoring`, Python 3.12 and later.

Two tools share the work. The finder gets the beginning of every function until it is known: a function that is never
called under focus is reported a few times and then no more, so that code outside the roots costs nothing. The
reporter gets all events of functions called under focus, by events local to their code. They are two because an event
that was disabled at a location stays disabled there for its tool, also when the function is called under focus later.
If only one identifier is free, one tool does both, and functions outside are always reported.

Unwinding can only be reported globally.
"""

from __future__ import annotations

import sys
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from ticktree.errors import TicktreeError
from ticktree.recorder._native import focus_callbacks, focus_wake
from ticktree.recorder.focus.naming import is_comprehension
from ticktree.recorder.focus.observer import CallObserver

# 0, 1 and 2 stay free for debuggers, coverage and profilers.
_IDENTIFIERS = (3, 4, 5)
_NAME = "ticktree focus"

# Called by the interpreter itself, or without a name: no code object that calls them names them.
_NAMELESS = ("<lambda>", "<genexpr>")


class MonitoringObserver(CallObserver):
    """Gets calls from `sys.monitoring`."""

    _finder: int
    _reporter: int
    _has_callees = False

    def begin(self) -> None:
        """Take identifiers, and register for events."""
        monitoring = _monitoring()
        free = [identifier for identifier in _IDENTIFIERS if monitoring.get_tool(identifier) is None]
        if not free:
            owners = ", ".join(f"{monitoring.get_tool(identifier)!r}" for identifier in _IDENTIFIERS)
            raise TicktreeError(
                f"no identifier of sys.monitoring is free for --focus: {owners} hold 3, 4 and 5"
            )
        self._reporter, self._finder = free[0], free[-1 if len(free) == 1 else 1]
        self._has_one_tool = len(free) == 1
        self._callee_names: set[str] = set(_NAMELESS)
        self._ignored: defaultdict[str, list[weakref.ref[CodeType]]] = defaultdict(list)
        for identifier in {self._reporter, self._finder}:
            monitoring.use_tool_id(identifier, _NAME)
        self.attach(watches_all=self._has_one_tool)
        self._register(monitoring)

    def end(self) -> None:
        """Release the identifiers."""
        monitoring = _monitoring()
        for identifier in {self._reporter, self._finder}:
            monitoring.set_events(identifier, 0)
            for event in self._events:
                monitoring.register_callback(identifier, event, None)
            for code in [reference() for reference in self._watched]:
                if code is not None:
                    monitoring.set_local_events(identifier, code, 0)
            monitoring.free_tool_id(identifier)
        super().end()

    def watch_calls(self, code: CodeType) -> None:
        """Report its calls from now on."""
        self._set_local_events(
            code, _monitoring().events.CALL if is_comprehension(code) else self._local_events
        )

    def watch_callees(self, code: CodeType) -> None:
        """Report calls of functions by any of the names in it from now on, and of functions inside it."""
        inner = [value.co_name for value in code.co_consts if isinstance(value, CodeType)]
        is_first = not self._has_callees
        self._has_callees = True
        names: Iterable[str] = {*code.co_names, *inner} - self._callee_names
        self._callee_names.update(names)
        if is_first:
            names = [name for name in self._ignored if self._may_be_called(name)]
        for name in names:
            for reference in self._ignored.pop(name, ()):
                callee = reference()
                if callee is not None:
                    self._wake(callee)

    def ignore(self, code: CodeType) -> None:
        """Stop reports until code under focus may call it; wake it at once if such code is known already."""
        if self._has_callees and self._may_be_called(code.co_name):
            self._wake(code)
        else:
            self._ignored[code.co_name].append(weakref.ref(code))

    def _wake(self, code: CodeType) -> None:
        """Report its beginning, and the rest once it begins under focus: it may only have the same name."""
        if focus_wake(code):
            events = _monitoring().events
            self._set_local_events(code, events.PY_START | events.PY_RESUME)

    def _set_local_events(self, code: CodeType, events: int) -> None:
        self._watched.append(weakref.ref(code))
        _monitoring().set_local_events(self._reporter, code, events)

    def _may_be_called(self, name: str) -> bool:
        return name in self._callee_names or (name.startswith("__") and name.endswith("__"))

    def _register(self, monitoring: Any) -> None:
        events = monitoring.events
        callback: Callable[..., Any]
        self._watched: list[weakref.ref[CodeType]] = []
        callbacks = focus_callbacks(monitoring.DISABLE)
        finder = {events.PY_START: callbacks["any_start"], events.PY_RESUME: callbacks["any_resume"]}
        reporter = {
            events.PY_START: callbacks["start"],
            events.PY_RESUME: callbacks["resume"],
            events.PY_THROW: callbacks["resume"],
            events.PY_RETURN: callbacks["end"],
            events.PY_YIELD: callbacks["yielded"],
            events.PY_UNWIND: callbacks["end"],
            events.CALL: callbacks["call"],
        }
        if self._has_one_tool:
            reporter |= finder
        if self.c_functions:
            reporter |= {events.C_RETURN: callbacks["c_end"], events.C_RAISE: callbacks["c_end"]}
        self._events = tuple(reporter)
        starts, unwinds = events.PY_START | events.PY_RESUME, events.PY_UNWIND | events.PY_THROW
        self._local_events = starts | events.PY_RETURN | events.PY_YIELD | events.CALL
        for event, callback in reporter.items():
            monitoring.register_callback(self._reporter, event, callback)
        for event, callback in finder.items():
            monitoring.register_callback(self._finder, event, callback)
        if not self._has_one_tool:
            monitoring.set_events(self._finder, starts)
        monitoring.set_events(self._reporter, unwinds | (starts if self._has_one_tool else 0))
        monitoring.restart_events()  # an earlier focus may have disabled them


def _monitoring() -> Any:
    return sys.monitoring  # type: ignore[attr-defined, unused-ignore]
