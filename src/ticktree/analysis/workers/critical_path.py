"""The critical path: which sections of whom set the length of a run."""

from __future__ import annotations

from dataclasses import dataclass

from ticktree.analysis.workers.roles import UNKNOWN, roles, unit_of
from ticktree.profile import Profile


@dataclass(frozen=True, slots=True)
class Stretch:
    """What of the critical path went through one node of one role.

    Without it the run would be shorter by at most `ns`, hence at most `speedup` times as fast (Amdahl, Validity
    of the single processor approach to achieving large scale computing capabilities, AFIPS 1967). It is a bound
    and no forecast: once this is shorter, another path may be the longest (Hollingsworth, Critical Path Profiling
    of Message Passing and Shared-Memory Programs, IEEE TPDS 9(10), 1998).

    Attributes:
        role: whose node.
        path: of the node; "" for what was in no section.
        ns: how long.
        share: the same as a part of the whole path.
        by: how long on each of them, the longest first.
    """

    role: str
    path: str
    ns: int
    share: float
    by: tuple[tuple[str, int], ...]

    @property
    def speedup(self) -> float | None:
        """How many times as fast the run could be without it at most; None where nothing would be left of it."""
        return 1 / (1 - self.share) if self.share < 1 else None


def critical_path(profile: Profile) -> list[Stretch]:
    """Return the critical path by role and node, the longest stretch first; empty where none was recorded."""
    names = unit_of(roles(profile, "thread"))
    whole_ns = sum(profile.critical.values())
    together: dict[tuple[str, str], dict[str, int]] = {}
    for place, ns in profile.critical.items():
        unit = names.get(place.writer)
        key = (unit.role, unit.section(place.path)) if unit else (UNKNOWN, place.path)
        by = together.setdefault(key, {})
        name = unit.name if unit else UNKNOWN
        by[name] = by.get(name, 0) + ns
    stretches = [_stretch(role, path, by, whole_ns) for (role, path), by in together.items()]
    return sorted(stretches, key=lambda one: (-one.ns, one.role, one.path))


def _stretch(role: str, path: str, by: dict[str, int], whole_ns: int) -> Stretch:
    ns = sum(by.values())
    ranked = sorted(by.items(), key=lambda item: (-item[1], item[0]))
    return Stretch(role, path, ns, ns / whole_ns if whole_ns else 0.0, tuple(ranked))
