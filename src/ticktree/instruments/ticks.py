"""Ticks of libraries' own loops; and of programs that mark nothing themselves: an env's steps, or an optimizer's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ticktree.recorder import Layer, Recorder, Section, UnmarkedLoop


def unmarked_loop(recorder: Recorder, name: str) -> UnmarkedLoop:
    """Return a loop of which one thing's steps are the ticks, on each thread where no other loop is open."""
    return UnmarkedLoop(recorder.section(name), _steps_for_itself)


class Training:
    """A loop that a library runs in one of its functions, for targets of which others begin or end its ticks.

    Args:
        loop: What it is called.
        ends: Whether others end its ticks: then the first begins with the function.

    Attributes:
        layer: Where it is known what the function is called on.
    """

    def __init__(self, loop: str, *, ends: bool = False) -> None:
        self.layer = Layer()
        self._loop, self._ends = loop, ends

    def is_open(self) -> bool:
        """Whether this thread is in the function."""
        return self.layer.within is not None

    def runs(self, recorder: Recorder, section: Section) -> dict[str, Any]:
        """Of the function itself."""
        return {
            "layer": self.layer,
            "way": ticks_within(recorder, section, self._loop, begins=self._ends),
        }

    def begins(self, recorder: Recorder, _section: Section) -> dict[str, Any]:
        """Of methods with which a tick begins."""

        def begin(_thing: Any) -> None:
            if self.is_open():
                recorder.tick(self._loop)

        return {"before": begin}

    def ends(self, recorder: Recorder, section: Section) -> dict[str, Any]:
        """Of methods with which a tick ends."""
        return {"way": ticks_after(recorder, section, self._loop, self.is_open)}


def ticks_within(
    recorder: Recorder, section: Section, loop: str, *, begins: bool = False
) -> Callable[..., Any]:
    """Return the way of a function that the ticks of a loop are in: its end is the end of the last one.

    If it `begins` the first one, others end theirs: then what is left after the last of them is no tick.
    """

    def way(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with section:
            if begins:
                recorder.tick(loop)
            result = function(*args, **kwargs)
            if not begins:
                recorder.tick(loop)
            return result

    return way


def ticks_after(
    recorder: Recorder,
    section: Section,
    loop: str,
    within: Callable[[], object],
    ends: Callable[..., bool] | None = None,
    unmarked: UnmarkedLoop | None = None,
) -> Callable[..., Any]:
    """Return the way of a method with which a tick of a loop ends, and the next one begins.

    Args:
        recorder: Of the section.
        section: Of the method's calls.
        loop: Whose tick it is.
        within: Whether this is within a function of `ticks_within`. A loop elsewhere is the program's own, and has
            these ticks only where the program marks nothing.
        ends: Called with the method's arguments: whether this call is the tick's last; by default each is.
        unmarked: The loop elsewhere, where others end it.
    """
    elsewhere = unmarked or unmarked_loop(recorder, loop)

    def way(function: Callable[..., Any], thing: Any, /, *args: Any, **kwargs: Any) -> Any:
        with section:
            result = function(thing, *args, **kwargs)
        if ends is not None and not ends(thing, *args, **kwargs):
            return result
        if within():
            recorder.tick(loop)
        else:
            elsewhere.begins(thing)
        return result

    return way


def _steps_for_itself() -> bool:
    """Whether no other process has this one take its steps: else the loop is that process's."""
    process = sys.modules.get("multiprocessing.process")
    return process is None or process.parent_process() is None
