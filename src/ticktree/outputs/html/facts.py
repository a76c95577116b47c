"""The page's data besides the JSON: choices and words, so that the front end makes no decisions and no phrases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from ticktree.analysis import Finding
from ticktree.analysis.categories import Traits, traits_of
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.analysis.machine import fastest_machine
from ticktree.analysis.registry import describe_rule
from ticktree.analysis.sampled import SampledCall, SampledTime, interval, sampled_threads, sampled_times
from ticktree.analysis.workers.roles import By, Worker, roles
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view import currency
from ticktree.outputs.view.build import first_screen
from ticktree.outputs.view.notes import notes_of, outlived, pace
from ticktree.outputs.view.sampled import function_title, functions, is_shown_by_samples, marks_to_set
from ticktree.outputs.view.sampled import line_title as line_place
from ticktree.outputs.view.sections import not_worth_optimizing, self_times
from ticktree.outputs.view.tree import short_titles, title_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import program_gauges


def workers(profile: Profile) -> dict[str, list[dict[str, Any]]]:
    """Return the possible columns: for each grouping of the threads, its processes, threads or roles.

    Each column has the indices of its threads in the JSON's `threads`. Groupings with only one member, or equal to an
    earlier grouping, are left out.
    """
    indices = {key: index for index, key in enumerate(sorted(profile.threads))}
    groups: dict[str, list[dict[str, Any]]] = {}
    partitions: set[frozenset[tuple[str, ...]]] = set()
    for by in get_args(By):
        members = [worker for role in roles(profile, by) for worker in role.workers]
        partition = frozenset(worker.threads for worker in members)
        if len(members) > 1 and partition not in partitions:
            partitions.add(partition)
            groups[by] = _group(members, by, indices)
    return groups


def _group(workers: Sequence[Worker], by: By, indices: dict[str, int]) -> list[dict[str, Any]]:
    titles = [title_of(worker, by) for worker in workers]
    threads = [[indices[thread] for thread in worker.threads] for worker in workers]
    labels = zip(titles, titles if by == "role" else short_titles(workers), threads, strict=True)
    return [{"title": title, "short": short, "threads": ids} for title, short, ids in labels]


def _mean_tick(view: LoopView, index_of: Mapping[int, int], options: ViewOptions) -> dict[str, Any]:
    by_name, tick_ns = self_times(view, options), round(view.tick_ns)
    name = currency.loop_title(view)
    return {
        "path": view.path,
        "name": name,
        "title": formatting.capitalized(currency.tick_phrase(view)) if view.loop else name,
        "tick_ns": tick_ns,
        "places": [index_of[id(section.node)] for section in view.sections],
        # The loop itself takes the whole tick, including ticktree's cost.
        "total_ns": [tick_ns, *(round(section.total_ns) for section in view.sections[1:])],
        "self_ns": [round(section.self_ns) for section in view.sections],
        "by_name": None if by_name is None else by_name.to_dict(),
    }


# Boxes with a smaller share of their node's self time are not drawn.
MIN_SHARE = 1 / 2000


def sampled_facts(
    profile: Profile, index_of: Mapping[int, int], loop_of: list[int], options: ViewOptions
) -> dict[str, Any]:
    """Return the sampled calls in each self time as columns, parents first, tables by function, and code to mark.

    Args:
        profile: the profile.
        index_of: the index of each node in the JSON's tree, by its id.
        loop_of: the index of the loop of each node.
        options: how much the tables show.
    """
    times = sampled_times(profile)
    columns = []
    for path, time in times.items():
        node = profile.root.at(path)
        index = index_of[id(node)]
        base = index if path in profile.loops else loop_of[index]
        columns.append({"place": index, "base": base, **_columns(time)})
    tables = {name.capitalize(): time for name, time in sampled_threads(profile).items()}
    if is_shown_by_samples(profile) and paths.ROOT in times:
        tables = {"Where the run goes": times[paths.ROOT], **tables}
    return {
        "sampled": sorted(columns, key=lambda section: section["place"]),
        "sampled_tables": [functions(name, time, options).to_dict() for name, time in tables.items()],
        "marks": marks_to_set(profile),
    }


def _columns(time: SampledTime) -> dict[str, Any]:
    calls = list(_calls(time.tree(), MIN_SHARE * time.ns))
    samples = time.count  # once, because there may be thousands of calls
    return {
        "samples": samples,
        "depth": [depth for depth, _ in calls],
        "name": [function_title(call.function) for _, call in calls],
        "share": [float(f"{call.ns / time.ns:.4g}") for _, call in calls],
        "text": [_text(call, call.ns / time.ns, samples) for _, call in calls],
    }


def _calls(root: SampledCall, min_ns: float) -> Iterator[tuple[int, SampledCall]]:
    stack = [(0, call) for call in reversed(root.in_order())]
    while stack:
        depth, call = stack.pop()
        if call.ns >= min_ns:
            yield depth, call
            stack.extend((depth + 1, below) for below in reversed(call.in_order()))


def _text(call: SampledCall, share: float, samples: int) -> str:
    low, high = interval(share, samples)
    bounds = f"{100 * low:.0f}\N{EN DASH}{100 * high:.0f}%"
    summary = f"{formatting.counted(call.count, 'sample')}, share {bounds} of [self]"
    return f"{summary} \N{MIDDLE DOT} {line_place(call.file, call.hottest_line)}" if call.file else summary


def facts(context: Context, findings: Sequence[Finding], options: ViewOptions) -> dict[str, Any]:
    """Return choices and words, from the functions that all views use.

    Data about nodes is ordered by their index in the tree, top down from 0 for the root, as in the JSON.
    """
    profile, names, ceilings = context.profile, context.short_names, fastest_machine(context.profile)
    nodes = [node for _, node in _in_order(profile.root)]
    options = replace(options, all=False, by=None, run=None)
    full = replace(options, all=True)
    index_of = {id(node): index for index, node in enumerate(nodes)}
    categories = _categories(profile.root, context)
    rules = {finding.rule: describe_rule(finding.rule) for finding in findings}
    full_view = first_screen(context, full, findings)
    screen = first_screen(context, options, findings)
    screen = replace(screen, recommendations=full_view.recommendations, loops=full_view.loops)
    return {
        "title": screen.title,
        "screen": screen.to_dict(),
        "about": [fact.text for fact in full_view.provenance if fact not in screen.provenance],
        "mean_ticks": [] if screen.nothing else [_mean_tick(view, index_of, full) for view in context.loops],
        "pace": {path: pace(profile, loop) for path, loop in profile.loops.items()},
        "over_budget": {path: text for path, loop in profile.loops.items() if (text := _over_budget(loop))},
        "waited": {path: _waited(profile, loop) for path, loop in profile.loops.items()},
        "usual": {path: _usual(profile, loop) for path, loop in profile.loops.items()},
        "rules": {name: {"about": visible(rule.about), "page": rule.page} for name, rule in rules.items()},
        "dismissed": not_worth_optimizing(context.main_loops),
        "workers": workers(profile),
        "gauges": sorted(program_gauges(profile.gauges)),
        "short": {i: short for i, node in enumerate(nodes) if (short := names.of(node.name)) != node.name},
        "notes": {
            i: notes for i, node in enumerate(nodes) if (notes := notes_of(node, ViewOptions(), ceilings))
        },
        "outlived": [index for index, node in enumerate(nodes) if outlived(node)],
        "itself": {
            "total_ns": sum(node.recorder_ns for node in nodes),
            "calls": sum(node.count for node in nodes),
        },
        **categories,
        **sampled_facts(profile, index_of, categories["loop_of"], full),
    }


def _usual(profile: Profile, loop: Loop) -> dict[str, int]:
    """Return the usual time of a steady tick in each section of a recorded breakdown."""
    paths_named = {path for tick in loop.worst for path in tick.breakdown} | set(loop.missed_breakdown)
    ticks = max(1, loop.stats.count)
    nodes = {path: profile.root.find(path) for path in sorted(paths_named)}
    return {path: loop.calls_of(node).sum_ns // ticks for path, node in nodes.items() if node is not None}


def _over_budget(loop: Loop) -> str:
    """Return why ticks longer than the budget may not count as missed; "" if there are none."""
    budget_ns, max_ns = loop.budget_ns, loop.stats.max_ns
    if budget_ns is None or max_ns is None or max_ns <= budget_ns:
        return ""
    missed = formatting.counted(loop.missed, "tick") if loop.missed else "No tick"
    verb = "were" if loop.missed > 1 else "was"
    return (
        f"{missed} {verb} busy for longer than the budget of {formatting.time(budget_ns)}: only these are missed "
        "ticks. Other long ticks waited or slept too long."
    )


def _waited(profile: Profile, loop: Loop) -> list[int]:
    """Return the waiting time in each of the worst ticks; of nested waits, the outer one counts."""
    return [
        sum(ns for path, ns in tick.breakdown.items() if _is_outer_wait(profile, path)) for tick in loop.worst
    ]


def _is_outer_wait(profile: Profile, path: str) -> bool:
    names = paths.split(path)
    nodes = (profile.root.find(paths.join(names[:depth])) for depth in range(1, len(names) + 1))
    *above, last = (bool(node and node.wait) for node in nodes)
    return last and not any(above)


def _in_order(root: Node) -> Iterator[tuple[int, Node]]:
    """Yield depth and node of the whole tree in the order of the JSON: parents first, children by name."""
    stack = [(0, root)]
    while stack:
        depth, node = stack.pop()
        yield depth, node
        stack.extend((depth + 1, node.children[name]) for name in sorted(node.children, reverse=True))


def _categories(root: Node, context: Context) -> dict[str, Any]:
    """Return the categories, the index of each node's category (its own, else its parent's, else -1), and its loop.

    The loop is given by the index of its node, 0 outside loops.
    """
    names: dict[str, int] = {}
    category_of: list[int] = []
    loop_of: list[int] = []
    loops = {id(root.find(path)) for path in context.profile.loops}
    above: list[Traits] = []  # the positions of the current node's ancestors
    loops_above: list[int] = []  # the loop of the nodes in each of them
    for index, (depth, node) in enumerate(_in_order(root)):
        del above[depth:], loops_above[depth:]
        is_loop = id(node) in loops
        loop_of.append(loops_above[-1] if loops_above else 0)
        loops_above.append(index if is_loop else loop_of[-1])
        above.append(traits_of(node, above[-1], context.category, is_loop=is_loop) if above else Traits())
        category = above[-1].category
        category_of.append(-1 if category is None else names.setdefault(category, len(names)))
    return {"categories": list(names), "category_of": category_of, "loop_of": loop_of}
