"""What the page is told beside the JSON: choices and words, so that the front end judges and words nothing itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ticktree.analysis import Finding
from ticktree.analysis.categories import Within, within
from ticktree.analysis.explained import explained
from ticktree.analysis.machine import fastest_machine
from ticktree.analysis.survey import Survey
from ticktree.outputs.html.mean_ticks import mean_ticks
from ticktree.outputs.html.units import units
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.build import first_screen
from ticktree.outputs.view.notes import notes_of, outlived
from ticktree.outputs.view.pace import pace
from ticktree.outputs.view.sections import dismissed
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import programs_own
from ticktree.profile.short_names import ShortNames


def facts(seen: Survey, found: Sequence[Finding], options: ViewOptions) -> dict[str, Any]:
    """Return choices and words, each made by what every view asks for them.

    What is said of nodes goes by their place in the tree from the top down, from 0 for the root, as in the JSON.

    Args:
        seen: the profile.
        found: all findings about it.
        options: how to show it.
    """
    profile = seen.profile
    nodes = [node for _, node in _in_order(profile.root)]
    options = replace(options, all=False, by=None, run=None)
    every = replace(options, all=True)
    whole = first_screen(seen, every, found)
    screen = replace(
        first_screen(seen, options, found), recommendations=whole.recommendations, loops=whole.loops
    )
    return {
        "title": screen.title,
        "screen": screen.to_dict(),
        "about": [fact.text for fact in whole.provenance if fact not in screen.provenance],
        "mean_ticks": [] if screen.nothing else mean_ticks(seen, _place_of(nodes), every),
        "pace": {path: pace(profile, loop) for path, loop in profile.loops.items()},
        "over_budget": {path: said for path, loop in profile.loops.items() if (said := _over_budget(loop))},
        "waited": {path: _waited(profile, loop) for path, loop in profile.loops.items()},
        "usual": {path: _usual(profile, loop) for path, loop in profile.loops.items()},
        "rules": {finding.rule: _rule(finding.rule) for finding in found},
        "dismissed": dismissed(seen.main_loops),
        "units": units(profile),
        "gauges": sorted(programs_own(profile.gauges)),
        "short": _short(seen.short_names, nodes),
        "notes": _notes(profile, nodes),
        "outlived": [place for place, node in enumerate(nodes) if outlived(node)],
        "itself": {
            "total_ns": sum(node.recorder_ns for node in nodes),
            "calls": sum(node.count for node in nodes),
        },
        **_categories(profile.root, seen),
    }


def _place_of(nodes: Sequence[Node]) -> Mapping[int, int]:
    return {id(node): place for place, node in enumerate(nodes)}


def _rule(name: str) -> dict[str, str]:
    rule = explained(name)
    return {"about": visible(rule.about), "page": rule.page}


def _usual(profile: Profile, loop: Loop) -> dict[str, int]:
    """Return what a steady tick usually spends in each section that a kept breakdown names."""
    named = {path for tick in loop.worst for path in tick.breakdown} | set(loop.missed_breakdown)
    ticks = max(1, loop.stats.count)
    nodes = {path: profile.root.find(path) for path in sorted(named)}
    return {path: loop.calls_of(node).sum_ns // ticks for path, node in nodes.items() if node is not None}


def _over_budget(loop: Loop) -> str:
    """Return why ticks may last longer than the budget and are not missed; "" where none does."""
    budget_ns, max_ns = loop.budget_ns, loop.stats.max_ns
    if budget_ns is None or max_ns is None or max_ns <= budget_ns:
        return ""
    missed = formatting.counted(loop.missed, "tick") if loop.missed else "No tick"
    return (
        f"{missed} worked longer than the budget of {formatting.time(budget_ns)}: only that counts as a miss. "
        "Other ticks that last longer waited or slept too long."
    )


def _waited(profile: Profile, loop: Loop) -> list[int]:
    """Return how much of each of the worst ticks it waited; of waits in a wait, the outer one counts."""
    return [
        sum(ns for path, ns in tick.breakdown.items() if _is_outer_wait(profile, path)) for tick in loop.worst
    ]


def _is_outer_wait(profile: Profile, path: str) -> bool:
    names = paths.split(path)
    nodes = [profile.root.find(paths.join(names[:depth])) for depth in range(1, len(names) + 1)]
    return [bool(node and node.wait) for node in nodes] == [False] * (len(names) - 1) + [True]


def _short(names: ShortNames, nodes: Sequence[Node]) -> Mapping[int, str]:
    every = ((place, names.of(node.name), node.name) for place, node in enumerate(nodes))
    return {place: short for place, short, name in every if short != name}


def _notes(profile: Profile, nodes: Sequence[Node]) -> Mapping[int, Sequence[str]]:
    here = fastest_machine(profile)
    every = ((place, tuple(notes_of(node, ViewOptions(), here))) for place, node in enumerate(nodes))
    return {place: notes for place, notes in every if notes}


def _in_order(root: Node) -> Iterator[tuple[int, Node]]:
    """Yield depth and node of the whole tree as the JSON has it: parents first, children by name."""
    waiting = [(0, root)]
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        waiting.extend((depth + 1, node.children[name]) for name in sorted(node.children, reverse=True))


def _categories(root: Node, seen: Survey) -> dict[str, Any]:
    """Return the categories there are, and of each node which it is in: its own or the one above it, else -1.

    And of each node the place of the loop that it is a part of, 0 of what is in none.
    """
    names: dict[str, int] = {}
    places: list[int] = []
    loop_of: list[int] = []
    loops = {id(root.find(path)) for path in seen.profile.loops}
    above: list[Within] = []  # of the nodes that lead to the one at hand
    within_loop: list[int] = []  # the loop of what is in each of them
    for place, (depth, node) in enumerate(_in_order(root)):
        del above[depth:], within_loop[depth:]
        loop_of.append(within_loop[-1] if within_loop else 0)
        within_loop.append(place if id(node) in loops else loop_of[-1])
        here = within(node, above[-1], seen.category, is_loop=id(node) in loops) if above else Within()
        above.append(here)
        places.append(-1 if here.category is None else names.setdefault(here.category, len(names)))
    return {"categories": list(names), "category_of": places, "loop_of": loop_of}
