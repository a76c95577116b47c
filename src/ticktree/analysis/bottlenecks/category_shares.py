"""Category shares: what sorts of work a loop's tick goes to."""

from __future__ import annotations

from dataclasses import dataclass

from ticktree.analysis.loops import LoopView

OTHER = "other"


@dataclass(frozen=True, slots=True)
class CategoryShare:
    """What one sort of work takes of a tick, on the loop's path.

    Attributes:
        name: of the category; "other" of sections that are in none.
        ns: own time of all its sections in a mean steady tick, or in the run.
        share: the same as a part of it.
        sections: how many have own time.
    """

    name: str
    ns: float
    share: float
    sections: int


def category_shares(view: LoopView) -> list[CategoryShare]:
    """Return the categories that time goes to, the one with most first.

    They and what ticktree itself cost add up to the tick: a section's time is its own, and counts once.
    """
    together: dict[str, tuple[float, int]] = {}
    for section in view.sections:
        if section.self_ns > 0:
            ns, sections = together.get(section.category or OTHER, (0.0, 0))
            together[section.category or OTHER] = (ns + section.self_ns, sections + 1)
    found = [
        CategoryShare(name, ns, ns / view.tick_ns, sections) for name, (ns, sections) in together.items()
    ]
    return sorted(found, key=lambda one: (one.name == OTHER, -one.ns, one.name))
