"""Calls reported by `sys.monitoring`, Python 3.12 and later.

Two tools share the work. One hears of every function that begins, until it is known: what is never called under
focus is heard of some times and then no more, so that outside the roots nothing is paid. The other hears all that the
functions called under focus do, by events local to their code. They are two because an event that was turned off in
one place stays off there for its tool, also when the function is called under focus for the first time later on. Where
only one identifier is free, one tool does both, and functions outside are heard of for good.

Unwinding can only be heard of globally.
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
from ticktree.recorder.focus.eye import Eye
from ticktree.recorder.focus.naming import is_part

# Those of debuggers, coverage and profilers stay free for them: 0, 1 and 2.
_IDENTIFIERS = (3, 4, 5)
_NAME = "ticktree focus"

# Called by the interpreter itself, or without a name: no callable's names show that it may call them.
_NAMELESS = ("<lambda>", "<genexpr>")


class Monitoring(Eye):
    """Hears of calls from `sys.monitoring`."""

    _finder: int
    _teller: int
    _has_wanted = False

    def begin(self) -> None:
        """Takes identifiers, and begins to listen."""
        monitoring = _monitoring()
        free = [identifier for identifier in _IDENTIFIERS if monitoring.get_tool(identifier) is None]
        if not free:
            owners = ", ".join(f"{monitoring.get_tool(identifier)!r}" for identifier in _IDENTIFIERS)
            raise TicktreeError(
                f"no identifier of sys.monitoring is free for --focus: {owners} hold 3, 4 and 5"
            )
        self._teller, self._finder = free[0], free[-1 if len(free) == 1 else 1]
        self._alone = len(free) == 1
        self._wanted: set[str] = set(_NAMELESS)
        self._asleep: defaultdict[str, list[weakref.ref[CodeType]]] = defaultdict(list)
        for identifier in {self._teller, self._finder}:
            monitoring.use_tool_id(identifier, _NAME)
        self.watch(keeps_looking=self._alone)
        self._listen(monitoring)

    def end(self) -> None:
        """Gives the identifiers back."""
        monitoring = _monitoring()
        for identifier in {self._teller, self._finder}:
            monitoring.set_events(identifier, 0)
            for event in self._heard:
                monitoring.register_callback(identifier, event, None)
            for code in [held() for held in self._met]:
                if code is not None:
                    monitoring.set_local_events(identifier, code, 0)
            monitoring.free_tool_id(identifier)
        super().end()

    def meet(self, code: CodeType) -> None:
        """Its calls are heard of from now on."""
        self._met.append(weakref.ref(code))
        monitoring = _monitoring()
        monitoring.set_local_events(
            self._teller, code, monitoring.events.CALL if is_part(code) else self._local
        )

    def want(self, code: CodeType) -> None:
        """What it may call, by any of the names in it, is heard of from now on; so are functions inside it."""
        inner = [value.co_name for value in code.co_consts if isinstance(value, CodeType)]
        first = not self._has_wanted
        self._has_wanted = True
        names: Iterable[str] = {*code.co_names, *inner} - self._wanted
        self._wanted.update(names)
        if first:
            names = [name for name in self._asleep if self._is_wanted(name)]
        for name in names:
            for held in self._asleep.pop(name, ()):
                sleeper = held()
                if sleeper is not None and focus_wake(sleeper):
                    self._wake(sleeper)

    def sleep(self, code: CodeType) -> None:
        """It is heard of again if something under focus may call it; if something does already, at once."""
        if self._has_wanted and self._is_wanted(code.co_name):
            if focus_wake(code):
                self._wake(code)
        else:
            self._asleep[code.co_name].append(weakref.ref(code))

    def _wake(self, code: CodeType) -> None:
        """Its beginning is heard of, and the rest once it begins under focus: another may merely bear its name."""
        self._met.append(weakref.ref(code))
        monitoring = _monitoring()
        monitoring.set_local_events(
            self._teller, code, monitoring.events.PY_START | monitoring.events.PY_RESUME
        )

    def _is_wanted(self, name: str) -> bool:
        return name in self._wanted or (name.startswith("__") and name.endswith("__"))

    def _listen(self, monitoring: Any) -> None:
        events = monitoring.events
        call: Callable[..., Any]
        self._met: list[weakref.ref[CodeType]] = []
        tell = focus_callbacks(monitoring.DISABLE)
        begins = {events.PY_START: tell["any_start"], events.PY_RESUME: tell["any_resume"]}
        heard = {
            events.PY_START: tell["start"],
            events.PY_RESUME: tell["resume"],
            events.PY_THROW: tell["resume"],
            events.PY_RETURN: tell["end"],
            events.PY_YIELD: tell["yielded"],
            events.PY_UNWIND: tell["end"],
            events.CALL: tell["call"],
        }
        if self._alone:
            heard |= begins
        if self.c_functions:
            heard |= {events.C_RETURN: tell["c_end"], events.C_RAISE: tell["c_end"]}
        self._heard = tuple(heard)
        self._local = events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD | events.CALL
        for event, call in heard.items():
            monitoring.register_callback(self._teller, event, call)
        for event, call in begins.items():
            monitoring.register_callback(self._finder, event, call)
        looks, everywhere = events.PY_START | events.PY_RESUME, events.PY_UNWIND | events.PY_THROW
        if not self._alone:
            monitoring.set_events(self._finder, looks)
        monitoring.set_events(self._teller, everywhere | (looks if self._alone else 0))
        monitoring.restart_events()  # an earlier focus may have turned them off


def _monitoring() -> Any:
    return sys.monitoring  # type: ignore[attr-defined, unused-ignore]
