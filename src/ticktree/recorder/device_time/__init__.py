"""Time of devices: what a GPU did for a section, by its own clock, next to what the host did.

Events are recorded on the device's stream where a call begins and ends, and looked at later: nothing ever waits for a
device, unless the user requests it (`--device-sync`). Nothing here imports a library or wakes a device.
"""

from __future__ import annotations

from collections.abc import Callable

from ticktree.recorder.device_time.cuda import Attendant, CudaClock
from ticktree.recorder.device_time.others import CpuClock, JaxClock, MpsClock, WhatThereIs
from ticktree.recorder.later import waits

__all__ = ["Attendant", "clocks_of"]


def clocks_of(device: str) -> list[Attendant]:
    """Return the clock of a device as programs name it: "cuda", "cuda:1", "mps", "cpu", "jax", "auto".

    None for "auto" where no device can come into use any more, so that such sections cost what others do.

    Raises:
        ValueError: No device is named so.
    """
    kind, _, index = device.partition(":")
    if kind == "auto":
        return [WhatThereIs(waits())] if WhatThereIs.is_possible() else []
    made = _KINDS.get(kind)
    if made is None or (index and not index.isdecimal()):
        known = ", ".join(map(repr, _KINDS))
        raise ValueError(
            f"device must be {known} or 'auto', or of several one such as 'cuda:1', not {device!r}"
        )
    return [made(int(index) if index else None, waits())]


_KINDS: dict[str, Callable[[int | None, bool], Attendant]] = {
    "cuda": CudaClock,
    "mps": MpsClock,
    "cpu": CpuClock,
    "jax": JaxClock,
}
