"""A call of a section needs much memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from ticktree.analysis.finding import Finding
from ticktree.analysis.loops import TELLING_SHARE
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import size
from ticktree.profile import Memory, Node
from ticktree.profile import path as paths


class MemoryRule:
    """Each section a call of which needs more than 100 MB beyond what was there; see docs/rules/memory.md."""

    name: ClassVar[str] = "memory"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each such section, the one that needs most first."""
        yield from needy(self.name, seen, lambda node: node.memory, seen.settings.thresholds.memory_bytes)


def needy(
    rule: str, seen: Survey, measured: Callable[[Node], Memory | None], limit: int
) -> Iterator[Finding]:
    """Yield a finding for each node of which a call needed more than `limit` of one sort of memory.

    Args:
        rule: whose findings they are.
        seen: what was recorded.
        measured: gives that sort of memory of a node; None where it was not measured.
        limit: in bytes.
    """
    found = []
    for path, _, node in seen.profile.root.walk():
        memory = measured(node)
        needed = _needed(memory)
        below = max((_needed(measured(child)) for child in node.children.values()), default=0)
        if memory is not None and needed > limit and below < TELLING_SHARE * needed:
            found.append((needed, path, memory))
    for needed, path, memory in sorted(found, key=lambda one: (-one[0], one[1])):
        yield Finding(
            rule=rule,
            kind="size",
            path=path,
            message=_said(path, needed, memory),
            evidence={
                "needed_bytes": needed,
                "peak_bytes": memory.peak_bytes,
                "calls_measured": memory.samples,
            },
        )


def _needed(memory: Memory | None) -> int:
    return 0 if memory is None or memory.growth_bytes is None else memory.growth_bytes


def _said(path: str, needed: int, memory: Memory) -> str:
    least = "" if memory.is_exact else "at least "
    where = f" of {', '.join(sorted(memory.devices))}" if memory.devices else ""
    return f"{paths.name_of(path)}: a call needs {least}{size(needed)}{where} beyond what was there"
