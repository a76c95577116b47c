"""Attendant: what a section tells of its calls, natively (device_time/attended.pxi)."""

from __future__ import annotations

from typing import Any

from ticktree.recorder._native import Place


class Attendant:
    """Told where calls of a section begin and end. What it does meanwhile is not the call's time.

    Attributes:
        waits: whether `wait` is to be called.
    """

    waits = False

    def begin(self) -> Any:
        """Return what `end` is to be given for this call, None for nothing, or as a text why there is nothing.

        The texts: "library", "device", "clock" and "host" say why there is no device time, "graph" that the call is
        captured into a graph, "events" that no event was left.
        """
        return None

    def wait(self, mark: Any) -> None:
        """Wait until what the call asked for is done; its time is still the call's."""

    def results(self, mark: Any, value: Any) -> None:
        """Take note of what the call's work will give."""

    def end(self, mark: Any, place: Place) -> str | None:  # noqa: ARG002
        """The call has ended, at `place`; return "measured" where its time is or will be booked, else as `begin`."""
        return None

    def forget(self, mark: Any) -> None:
        """The call was ended without telling."""

    def failed(self) -> None:
        """Something here raised an exception."""
