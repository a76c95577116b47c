"""The processes or threads of a run as a table, a row a role."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.presence import Presence, presence
from ticktree.analysis.workers.roles import By, Role, roles
from ticktree.outputs.view.columns import ROLES, filled
from ticktree.outputs.view.naming import who
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile

ROLES_NAMED = 4


def processes(profile: Profile, seen: Survey, by: By | None) -> Table:
    """Return what each role's processes did with their time; its threads where it is by thread."""
    noun = "thread" if by == "thread" else "process"
    entries = [_entry(presence(role, seen)) for role in _roles(profile, by)]
    title = "threads" if by == "thread" else "processes"
    return Table(title, noun, [column.head for column in ROLES], entries)


def census(profile: Profile, by: By | None) -> str:
    """Return how many of which role there were, in a few words."""
    found = _roles(profile, by)
    count = sum(role.count for role in found)
    noun = "thread" if by == "thread" else "process"
    return f"{formatting.counted(count, noun)}: {', '.join(_named(found))}"


def _roles(profile: Profile, by: By | None) -> list[Role]:
    return roles(profile, "thread" if by == "thread" else "process")


def _named(found: Sequence[Role]) -> list[str]:
    shown = found if len(found) <= ROLES_NAMED else found[: ROLES_NAMED - 1]
    names = [visible(who(role.name, role.count)) for role in shown]
    rest = sum(role.count for role in found[len(shown) :])
    return [*names, f"{formatting.count(rest)} others"] if rest else names


def _entry(one: Presence) -> Entry:
    return filled(Entry(visible(one.role.name), ()), ROLES, one)
