"""The saved report: a profile that says which of its sections are the profiler's operations."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ticktree.compat.operation import Operation, operations
from ticktree.compat.profiling.summary import summary
from ticktree.outputs import OUTPUTS
from ticktree.profile import Memory, Profile

# The fact of a profile that names them.
OPERATIONS = "profiling_operations"


def report(profile: Profile, names: Collection[str]) -> Profile:
    """Return `profile` with the names of its operations."""
    return replace(profile, metadata={**profile.metadata, OPERATIONS: frozenset(names)})


def operations_in(profile: Profile) -> list[Operation]:
    """Return the operations, the one with the longest time first: of a profile that names none, all sections."""
    named = profile.metadata.get(OPERATIONS)
    names = {node.name for _, _, node in profile.root.walk()} if named is None else set(map(str, named))
    return list(operations(profile, names).values())


def as_text(profile: Profile) -> bytes:
    """Return the analysis: operations by name, then what ticktree says of each place in the tree."""
    found = operations_in(profile)
    by_name = f"{summary(found)}\n\n".encode() if found else b""
    return by_name + OUTPUTS["text"].render(profile)


def as_details(profile: Profile) -> bytes:
    """Return all numbers: the profile as JSON, with the operations by name before its tree."""
    fields = json.loads(OUTPUTS["json"].render(profile))
    tree = fields.pop("tree")
    paths: dict[str, list[str]] = {}
    for path, _, node in profile.root.walk():
        paths.setdefault(node.name, []).append(path)
    listed = [_details(one, paths[one.name]) for one in operations_in(profile)]
    return json.dumps({**fields, "operations": listed, "tree": tree}, separators=(",", ":")).encode() + b"\n"


def _details(one: Operation, paths: list[str]) -> dict[str, Any]:
    stats = one.stats
    return {
        "name": one.name,
        "count": stats.count,
        "total_ns": stats.sum_ns,
        "mean_ns": stats.mean_ns,
        "min_ns": stats.min_ns,
        "max_ns": stats.max_ns,
        "memory_peak_bytes": _peak_bytes(one.memory),
        "device_memory_peak_bytes": _peak_bytes(one.device_memory),
        "paths": paths,
    }


def _peak_bytes(memory: Memory | None) -> int | None:
    return None if memory is None else memory.peak_bytes
