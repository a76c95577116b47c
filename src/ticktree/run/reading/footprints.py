"""Footprints: what the calls of a file's nodes needed of each memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ticktree.profile import Memory
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image


class Footprint(NamedTuple):
    """What the calls of one node needed.

    Attributes:
        resident: Of the process's own memory.
        device: Of devices' memory.
    """

    resident: Memory | None = None
    device: Memory | None = None


def footprints_of(image: Image) -> Mapping[int, Footprint]:
    """Those of a memory file, by the reference of their node.

    Raises:
        DamagedError: The file says what cannot be.
    """
    found: dict[int, Footprint] = {}
    for _, record in image.footprints():
        if not record.samples:
            continue
        so_far = found.get(record.node, Footprint())
        if record.device:
            memory = _memory(record, frozenset({image.text(record.device)}))
            found[record.node] = so_far._replace(device=_beside(so_far.device, memory))
        else:
            found[record.node] = so_far._replace(resident=_memory(record, frozenset()))
    return found


def _memory(record: layout.Record, devices: frozenset[str]) -> Memory:
    return Memory(
        samples=record.samples,
        change_bytes=record.change,
        peak_bytes=record.peak,
        # One that was caught in the middle of a write may know of a growth and not yet of its peak.
        growth_bytes=min(record.growth, record.peak),
        is_exact=record.peak >= record.peak_bound and record.growth >= record.growth_bound,
        devices=devices,
    )


def _beside(one: Memory | None, other: Memory) -> Memory:
    """What the same calls needed of several devices: they are no more calls for that."""
    if one is None:
        return other
    return replace(one + other, samples=max(one.samples, other.samples))
