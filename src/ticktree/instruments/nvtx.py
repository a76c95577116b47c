"""NVTX: each section as a range that NVIDIA's Nsight Systems shows next to the GPU's work. On demand.

The ranges are those of the `nvtx` package, or else of `torch.cuda.nvtx`. They are begun and ended by their number, not
pushed and popped: sections of tasks that take turns end in any order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

from ticktree.recorder import Recorder
from ticktree.recorder._native import Place
from ticktree.recorder.device_time.cuda import Attendant


class Ranges(NamedTuple):
    """What begins a range and returns its number, and what ends it."""

    begin: Callable[[str], Any]
    end: Callable[[Any], None]


class Range(Attendant):
    """Marks the calls of the section of a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def begin(self) -> Any:
        """Begin a range, where anything can make one."""
        ranges = _here.ranges or _here.find()
        return None if ranges is None else (ranges.end, ranges.begin(self._name))

    def end(self, mark: tuple[Callable[[Any], None], Any], place: Place) -> None:  # noqa: ARG002
        """End the range."""
        mark[0](mark[1])

    def forget(self, mark: tuple[Callable[[Any], None], Any]) -> None:
        """End it too: its call has ended before."""
        mark[0](mark[1])

    def failed(self) -> None:
        """Begin no more: the library cannot."""
        _here.give_up()


class _Here:
    def __init__(self) -> None:
        self.recorders: list[Recorder] = []
        self.ranges: Ranges | None = None
        self._is_of_no_use = False

    def find(self) -> Ranges | None:
        """Return what makes ranges in this process; None where nothing does yet, or it is not wanted."""
        if not self.recorders or self._is_of_no_use:
            return None
        nvtx, torch = sys.modules.get("nvtx"), sys.modules.get("torch")
        if nvtx is not None and hasattr(nvtx, "start_range"):
            self.ranges = Ranges(nvtx.start_range, nvtx.end_range)
        elif torch is not None and hasattr(torch, "version") and torch.version.cuda:
            self.ranges = Ranges(torch.cuda.nvtx.range_start, torch.cuda.nvtx.range_end)
        return self.ranges

    def give_up(self) -> None:
        """Make no more ranges in this process."""
        self._is_of_no_use, self.ranges = True, None


_here = _Here()


def install(recorder: Recorder) -> None:
    """Makes ranges of the sections that are made from now on; imports `nvtx`, where it is installed."""
    with suppress(ImportError):  # torch may have what it takes, once the program imports it
        import_module("nvtx")
    recorder.attended_by.append(Range)
    _here.recorders.append(recorder)


def uninstall() -> None:
    """Makes no more of them."""
    while _here.recorders:
        _here.recorders.pop().attended_by.remove(Range)
    _here.ranges = None
