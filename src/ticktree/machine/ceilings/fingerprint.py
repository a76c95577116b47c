"""Fingerprint: what a machine is known by when its ceilings are looked up again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from typing import TypeAlias

from ticktree.machine.ceilings import processor

Fingerprint: TypeAlias = dict[str, str | int | bool]

# Kernels differ in the last pages that they keep for themselves: the same machine after an update is the same.
_MEMORY_STEP = 1 << 28


def fingerprint() -> Fingerprint:
    """Return what decides how fast this machine is, as far as it can be told without measuring.

    The host's name is no part of it: containers and cloud machines get a new one each time, and machines of one name
    are replaced by faster ones.
    """
    memory = processor.memory_bytes()
    flags = processor.flags()
    found: Fingerprint = {
        "architecture": platform.machine(),
        "system": platform.system(),
        "cpu": processor.model(),
        "cores": os.cpu_count() or 1,
        "cores_usable": processor.usable_cores(),
        "hypervisor": "hypervisor" in flags,
        "instructions": _digest(" ".join(sorted(flags))),
    }
    if memory is not None:
        found["memory_256_mib"] = round(memory / _MEMORY_STEP)
    return found


def digest(of: Fingerprint) -> str:
    """Return a short name for a fingerprint, fit for a file."""
    return _digest(json.dumps(of, sort_keys=True))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
