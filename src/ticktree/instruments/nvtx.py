"""NVTX: each section as a range that NVIDIA's Nsight Systems shows next to the GPU's work. On demand.

The ranges are those of the `nvtx` package, or else of `torch.cuda.nvtx`. They begin and end by number, instead of
push and pop: sections of concurrent tasks end in any order.
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
    """The functions of a library: `begin` returns a range's number for `end`."""

    begin: Callable[[str], Any]
    end: Callable[[Any], None]


class Range(Attendant):
    """Marks the calls of the section with a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def begin(self) -> Any:
        """Begin a range, if there is a library."""
        ranges = _process.ranges or _process.find()
        return None if ranges is None else (ranges.end, ranges.begin(self._name))

    def end(self, mark: tuple[Callable[[Any], None], Any], place: Place) -> None:  # noqa: ARG002
        """End the range."""
        mark[0](mark[1])

    def forget(self, mark: tuple[Callable[[Any], None], Any]) -> None:
        """End a range whose call has ended before."""
        mark[0](mark[1])

    def failed(self) -> None:
        """Begin no more: the library cannot."""
        _process.give_up()


class _Process:
    def __init__(self) -> None:
        self.recorders: list[Recorder] = []
        self.ranges: Ranges | None = None
        self._has_failed = False

    def find(self) -> Ranges | None:
        """Return the library's functions; None if none is imported yet, it has failed, or no recorder wants ranges."""
        if not self.recorders or self._has_failed:
            return None
        nvtx, torch = sys.modules.get("nvtx"), sys.modules.get("torch")
        if nvtx is not None and hasattr(nvtx, "start_range"):
            self.ranges = Ranges(nvtx.start_range, nvtx.end_range)
        elif torch is not None and hasattr(torch, "version") and torch.version.cuda:
            self.ranges = Ranges(torch.cuda.nvtx.range_start, torch.cuda.nvtx.range_end)
        return self.ranges

    def give_up(self) -> None:
        """Make no more ranges in this process."""
        self._has_failed, self.ranges = True, None


_process = _Process()


def install(recorder: Recorder) -> None:
    """Mark sections that are created from now on; imports `nvtx`, if it is installed."""
    with suppress(ImportError):  # torch may have these functions, once the program imports it
        import_module("nvtx")
    recorder.attended_by.append(Range)
    _process.recorders.append(recorder)


def uninstall() -> None:
    """Mark no more sections."""
    while _process.recorders:
        _process.recorders.pop().attended_by.remove(Range)
    _process.ranges = None
