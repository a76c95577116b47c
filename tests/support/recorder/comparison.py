"""Compare a profile with the reference's account of the same program."""

from __future__ import annotations

from typing import Any

from support.recorder.reference import Path, Reference, Sums, histogram, totals
from ticktree.profile import Node, Profile, Stats
from ticktree.profile import path as paths


def assert_same(profile: Profile, reference: Reference) -> None:
    """Asserts that tree, calls and nanoseconds are the same, and that the profile holds together."""
    profile.check()
    actual = {tuple(paths.split(path)): _actual_fields(node) for path, _, node in profile.root.walk()}
    sums = reference.nodes()
    expected = {path: _expected_fields(place, total) for (path, total), place in _by_path(sums)}
    assert _without_nothing(actual) == _without_nothing(expected)
    assert dict(profile.losses) == {name: count for name, count in reference.losses.items() if count}
    incomplete = {tuple(paths.split(path)): loop.incomplete for path, loop in profile.loops.items()}
    assert {path: count for path, count in incomplete.items() if count} == {
        path: count for path, count in reference.incomplete.items() if count
    }


def _by_path(sums: dict[Path, Sums]) -> list[tuple[tuple[Path, int], Sums]]:
    return [((path, total), sums[path]) for path, total in totals(sums).items()]


def _without_nothing(nodes: dict[Path, dict[str, Any]]) -> dict[Path, dict[str, Any]]:
    """Leaves out what a reset emptied: the native recorder keeps the node, the reference does not."""
    return {path: fields for path, fields in nodes.items() if any(fields.values())}


def _actual_fields(node: Node) -> dict[str, Any]:
    return {
        "own": node.self_ns,
        "concurrent": node.concurrent_ns,
        "total": node.total_ns,
        "open": (node.open.count, node.open.age_ns) if node.open else None,
        "steady": _stats(node.steady),
        "warmup": _stats(node.warmup or Stats()),
        "windows": (node.windows.count, sum(node.windows.totals.values())) if node.count else None,
    }


def _stats(stats: Stats) -> Any:
    if not stats.count:
        return None
    return (stats.count, stats.sum_ns, stats.min_ns, stats.max_ns, dict(stats.histogram.buckets))


def _expected_fields(sums: Sums, total: int) -> dict[str, Any]:
    every = [*sums.durations, *sums.warm_durations]
    return {
        "own": sums.self_ns,
        "concurrent": sums.concurrent_ns,
        "total": total,
        "open": (len(sums.ages), max(sums.ages)) if sums.ages else None,
        "steady": _stats_fields(sums.durations),
        "warmup": _stats_fields(sums.warm_durations),
        "windows": (len(every), sum(every)) if every else None,
    }


def _stats_fields(durations: list[int]) -> Any:
    if not durations:
        return None
    return (len(durations), sum(durations), min(durations), max(durations), histogram(durations))
