"""Origin: what a trace says of itself beside its events: when it began, who wrote it, what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ticktree.importers.chrome.events import Column, Event
from ticktree.profile import path as paths
from ticktree.profile.metadata import Value

# Times of this many nanoseconds count from 1970: no machine has been up since 2001.
_EPOCH_FROM_NS = 1_000_000_000_000_000_000


class Origin:
    """What stands beside the events of a trace.

    Args:
        about: the trace's object; empty where the file is a list of events.

    Attributes:
        is_own: whether ticktree wrote it.
        loops: paths that the file says are loops.
        waits: paths that the file says wait.
        losses: what the file says it lacks.
    """

    def __init__(self, about: Mapping[str, Any]) -> None:
        self._about = about
        other = about.get("otherData")
        self._own: Mapping[str, Any] = other if isinstance(other, dict) else {}
        self.is_own = self._own.get("exported_by") == "ticktree"
        self.loops = frozenset(self._texts("loops"))
        self.waits = frozenset(self._texts("waits"))
        lost = self._own.get("not_recorded") if self.is_own else None
        self.losses: dict[str, int] = {
            what.replace(" ", "_"): count
            for what, count in (lost.items() if isinstance(lost, dict) else ())
            if type(count) is int and count > 0
        }

    def began_ns(self, start_ns: Column) -> int:
        """Return when the run began, by the file's clock: ticktree's counts from there, others' from anywhere.

        Args:
            start_ns: when each call began.
        """
        return 0 if self.is_own or not len(start_ns) else int(start_ns.min())

    def wall_ns(self, began_ns: int) -> int | None:
        """Return when the run began, since the epoch; None where the file does not say."""
        for known, since in (
            (self._own.get("began_wall_ns"), 0),
            (self._about.get("baseTimeNanoseconds"), began_ns),
        ):
            if type(known) is int and 0 < known + since < 1 << 63:
                return known + since
        return began_ns if began_ns >= _EPOCH_FROM_NS else None

    def told(self, events: Sequence[Event]) -> dict[int, tuple[str, ...]]:
        """Return, by place among `events`, the keys from the root to calls whose name and lane do not show them.

        Raises:
            ValueError: a path is none.
        """
        if not self.is_own:
            return {}
        found = ((at, event.get("args")) for at, event in enumerate(events))
        return {
            at: paths.split(args["path"])
            for at, args in found
            if isinstance(args, dict) and isinstance(args.get("path"), str)
        }

    def facts(self) -> Iterator[tuple[str, Value]]:
        """Yield what is known of the machine and the program."""
        host, devices = self._about.get("host_name"), self._about.get("deviceProperties")
        if isinstance(host, str):
            yield "host", host
        if isinstance(devices, list) and devices:
            yield "gpus", len(devices)
        clocks = self._own.get("clocks")
        for clock in clocks if isinstance(clocks, list) else ():
            if isinstance(clock, str):
                yield "clock", clock

    def _texts(self, key: str) -> list[str]:
        listed = self._own.get(key) if self.is_own else None
        return [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []
