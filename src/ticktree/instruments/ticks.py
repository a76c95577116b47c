"""Ticks of libraries' own loops, and of programs that mark nothing: steps of an env, or of an optimizer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ticktree.recorder import Layer, Recorder, Section, UnmarkedLoop


def unmarked_loop(recorder: Recorder, name: str) -> UnmarkedLoop:
    """Return a loop whose ticks are the steps of one object, on each thread where no other loop is open."""
    return UnmarkedLoop(recorder.section(name), _is_main_process)


class Training:
    """A loop that a library runs in one of its functions, whose ticks other methods begin or end.

    Its methods make options for targets (`Target.make_options`).

    Args:
        loop: The loop's name.
        ends_ticks: Whether methods end its ticks: then the first tick begins with the function.

    Attributes:
        layer: Tells on which object the function is called.
    """

    def __init__(self, loop: str, *, ends_ticks: bool = False) -> None:
        self.layer = Layer()
        self._loop, self._ends_ticks = loop, ends_ticks

    def is_open(self) -> bool:
        """Return whether this thread is in the function."""
        return self.layer.within is not None

    def run(self, recorder: Recorder, section: Section) -> dict[str, Any]:
        """Return the options of the function itself."""
        around = ticks_within(recorder, section, self._loop, begin_first=self._ends_ticks)
        return {"layer": self.layer, "around": around}

    def begin_tick(self, recorder: Recorder, _section: Section) -> dict[str, Any]:
        """Return the options of methods that begin a tick."""

        def before(_owner: Any) -> None:
            if self.is_open():
                recorder.tick(self._loop)

        return {"before": before}

    def end_tick(self, recorder: Recorder, section: Section) -> dict[str, Any]:
        """Return the options of methods that end a tick."""
        return {"around": ticks_after(recorder, section, self._loop, self.is_open)}


def ticks_within(
    recorder: Recorder, section: Section, loop: str, *, begin_first: bool = False
) -> Callable[..., Any]:
    """Return an `around` for a function that contains a loop's ticks: the last tick ends with the function.

    With `begin_first` the first tick begins with the function, and methods end their ticks: then the time after the
    last of them is no tick.
    """

    def around(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with section:
            if begin_first:
                recorder.tick(loop)
            result = function(*args, **kwargs)
            if not begin_first:
                recorder.tick(loop)
            return result

    return around


def ticks_after(
    recorder: Recorder,
    section: Section,
    loop: str,
    is_within: Callable[[], object],
    is_last: Callable[..., bool] | None = None,
    unmarked: UnmarkedLoop | None = None,
) -> Callable[..., Any]:
    """Return an `around` for a method whose end is the end of one tick of a loop and the beginning of the next.

    Args:
        recorder: The section's recorder.
        section: The section of the method's calls.
        loop: The loop's name.
        is_within: Whether this is within a function of `ticks_within`. Any other loop is the program's own, and has
            these ticks only if the program marks nothing.
        is_last: Called with the method's arguments: whether this call is the tick's last; by default every call is.
        unmarked: The program's own loop, if other methods end it.
    """
    outside = unmarked or unmarked_loop(recorder, loop)

    def around(function: Callable[..., Any], owner: Any, /, *args: Any, **kwargs: Any) -> Any:
        with section:
            result = function(owner, *args, **kwargs)
        if is_last is not None and not is_last(owner, *args, **kwargs):
            return result
        if is_within():
            recorder.tick(loop)
        else:
            outside.begins(owner)
        return result

    return around


def _is_main_process() -> bool:
    """Return whether no other process runs this one: else the loop is that process's."""
    process = sys.modules.get("multiprocessing.process")
    return process is None or process.parent_process() is None
