"""Clock: what a node's time was measured with."""

from __future__ import annotations

from typing import Literal, TypeAlias

Clock: TypeAlias = Literal["host", "device", "remote"]

HOST: Clock = "host"
DEVICE: Clock = "device"
REMOTE: Clock = "remote"
CLOCKS: tuple[Clock, ...] = (HOST, DEVICE, REMOTE)

_MARKS = tuple(f"@{clock}" for clock in CLOCKS)


def key_of(name: str, clock: Clock) -> str:
    """Return what a node is filed under among its siblings: its name and, where it is not the host's, its clock.

    Two nodes have the same key only if they have the same name and the same clock: what one clock measured is never
    added to what another did. A name that itself ends like a marked one is marked too.
    """
    return name if clock == HOST and not name.endswith(_MARKS) else f"{name}@{clock}"


def named_by(key: str) -> tuple[str, Clock]:
    """Return the name and the clock that `key` is of; the inverse of `key_of`."""
    for clock, mark in zip(CLOCKS, _MARKS, strict=True):
        if key.endswith(mark):
            return key[: -len(mark)], clock
    return key, HOST
