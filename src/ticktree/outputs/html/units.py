"""Who took part, for the columns by process, thread and role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from ticktree.analysis.workers.roles import By, Unit, roles
from ticktree.outputs.view.by import short_titles, title_of
from ticktree.profile import Profile


def units(profile: Profile) -> dict[str, list[dict[str, Any]]]:
    """Return the columns there may be: of each way to tell those who took part apart, who they are.

    What each of them wrote is told by places in the `writers` of the JSON. Ways that tell no two apart are left out,
    and such as tell the same apart as one before.
    """
    places = {key: place for place, key in enumerate(sorted(profile.writers))}
    told: dict[str, list[dict[str, Any]]] = {}
    known: set[frozenset[tuple[str, ...]]] = set()
    for by in get_args(By):
        found = [unit for role in roles(profile, by) for unit in role.units]
        apart = frozenset(unit.writers for unit in found)
        if len(found) > 1 and apart not in known:
            known.add(apart)
            told[by] = _told(found, by, places)
    return told


def _told(found: Sequence[Unit], by: By, places: dict[str, int]) -> list[dict[str, Any]]:
    shorts = short_titles(found) if by != "role" else [title_of(unit, by) for unit in found]
    return [
        {"title": title_of(unit, by), "short": short, "writers": [places[writer] for writer in unit.writers]}
        for unit, short in zip(found, shorts, strict=True)
    ]
