"""Subjects of budgets: a node, a loop or a gauge of a profile; and the errors of budgets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from ticktree.errors import TicktreeError, did_you_mean
from ticktree.profile import Gauge, Loop, Node, Profile, Stats
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames


class BudgetError(TicktreeError, ValueError):
    """A budget that cannot be checked; the message is one line and names where the budget is configured."""


class NotMeasuredError(Exception):
    """This run does not contain a number; the message says why."""


Kind: TypeAlias = Literal["node", "loop", "gauge"]

# A gauge may have the same name as a section.
GAUGE_PREFIX = "gauge:"
_SHOWN = 3
# Ends each name of a path for pattern matching.
_END = "\0"


@dataclass(frozen=True, slots=True)
class Subject:
    """A node, loop or gauge that a budget can limit.

    Attributes:
        path: path of the node or loop, or the gauge's name.
        kind: which of the three it is.
        node: the node, for a loop the loop's node.
        loop: the loop.
        gauge: the gauge.
        within: the node of the nearest loop above; the root if there is none.
    """

    path: str
    kind: Kind
    node: Node | None = None
    loop: Loop | None = None
    gauge: Gauge | None = None
    within: Node | None = None

    @property
    def stats(self) -> Stats:
        """The steady calls of a node, or a loop's ticks."""
        return self.loop.stats if self.loop else self.node.steady if self.node else Stats()


class Subjects:
    """All subjects in a profile."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def named(self, name: str) -> Sequence[Subject]:
        """Return the subjects of `name`: a path, a pattern with `*`, the end of one path, or a gauge.

        Raises:
            BudgetError: There is none, or it is the end of several paths.
        """
        if name.startswith(GAUGE_PREFIX):
            gauge = name[len(GAUGE_PREFIX) :]
            return self._gauges_like(gauge) or self._refuse(name)
        if name in self._places:
            return [self._places[name]]
        if name in self._gauges:
            return [self._gauges[name]]
        if "*" in name:
            return self._places_like(name) or self._gauges_like(name) or self._refuse(name)
        return self._ending_in(name) or self._refuse(name)

    @cached_property
    def _places(self) -> dict[str, Subject]:
        """The loops and nodes by path, in the order of the tree, parents before their children."""
        root = self._profile.root
        subjects: dict[str, Subject] = {}
        pending = [("", root, root)]
        while pending:
            path, node, within = pending.pop()
            loop = self._profile.loops.get(path)
            if path:
                subjects[path] = Subject(path, "loop" if loop else "node", node, loop, within=within)
            below = [
                (paths.child(path, name), child, node if loop else within)
                for name, child in node.children.items()
            ]
            pending.extend(reversed(below))
        return subjects

    @cached_property
    def _gauges(self) -> dict[str, Subject]:
        return {name: Subject(name, "gauge", gauge=gauge) for name, gauge in self._profile.gauges.items()}

    @cached_property
    def _shown(self) -> dict[str, str]:
        """The path as the report shows it, by path: focused calls have short names there."""
        short = ShortNames(self._profile.root)
        return {path: short.joined(paths.split(path)) for path in self._places}

    def _ending_in(self, name: str) -> list[Subject]:
        matches = [subject for path, subject in self._places.items() if path.endswith(f"/{name}")]
        if not matches:
            shown = [path for path, words in self._shown.items() if words == name]
            shown = shown or [path for path, words in self._shown.items() if words.endswith(f"/{name}")]
            matches = [self._places[path] for path in shown]
        if len(matches) > 1:
            first = ", ".join(subject.path for subject in matches[:_SHOWN])
            more = f" and {len(matches) - _SHOWN} more" if len(matches) > _SHOWN else ""
            raise BudgetError(
                f"{name!r} is the end of several paths: {first}{more}; give more of the path, or **/{name}"
            )
        return matches

    def _places_like(self, pattern: str) -> list[Subject]:
        like = _expression(pattern)
        return [
            subject
            for path, subject in self._places.items()
            if any(
                like.fullmatch("".join(name + _END for name in paths.split(words)))
                for words in (path, self._shown[path])
            )
        ]

    def _gauges_like(self, pattern: str) -> list[Subject]:
        like = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
        return [subject for name, subject in self._gauges.items() if like.fullmatch(name)]

    def _refuse(self, name: str) -> list[Subject]:
        ends = [paths.element(paths.name_of(path)) for path in self._places]
        known = [*self._places, *self._gauges, *ends]
        raise BudgetError(f"nothing in this run is called {name!r}{did_you_mean(name, known)}")


def _expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a path pattern: `*` is any part of one name, `**` any number of names."""
    try:
        names = paths.split(pattern)
    except ValueError:
        raise BudgetError(f"{pattern!r} is no path") from None
    parts = [
        f"(?:[^{_END}]*{_END})*"
        if name == "**"
        else f"[^{_END}]*".join(map(re.escape, name.split("*"))) + _END
        for name in names
    ]
    return re.compile("".join(parts), re.DOTALL)
