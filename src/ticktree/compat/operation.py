"""Operation: all calls of one name, wherever they were made, as flat tables have them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ticktree.profile import Memory, Profile
from ticktree.profile.stats import Stats
from ticktree.profile.table import present


@dataclass(frozen=True, slots=True)
class Operation:
    """All calls of one name.

    A name that is open inside itself counts in both calls, as it does where each call is timed by itself.

    Attributes:
        name: The sections' name.
        stats: Its completed calls.
        memory: What they needed of memory; None where not sampled.
        device_memory: The same of devices.
    """

    name: str
    stats: Stats
    memory: Memory | None = None
    device_memory: Memory | None = None

    def __add__(self, other: Operation) -> Operation:
        return Operation(
            self.name,
            self.stats + other.stats,
            present(self.memory, other.memory),
            present(self.device_memory, other.device_memory),
        )


def operations(profile: Profile, names: Collection[str]) -> dict[str, Operation]:
    """Return those of `names` that were called, by name, the one with the longest time first."""
    found: dict[str, Operation] = {}
    for path, _, node in profile.root.walk():
        if path and node.name in names and node.count:
            one = Operation(node.name, node.stats, node.memory, node.device_memory)
            found[node.name] = found[node.name] + one if node.name in found else one
    ranked = sorted(found.values(), key=lambda one: (-one.stats.sum_ns, one.name))
    return {one.name: one for one in ranked}
