"""The report for programs: the profile as it is saved, and what the analysis adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ticktree.analysis import Finding
from ticktree.analysis.bottlenecks import Bottleneck, CategoryShare, category_shares, not_worth_doing
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.analysis.sampled import SampledTime, sampled_apart, sampled_times
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.sentences.facts import finding_fields
from ticktree.profile import Profile
from ticktree.profile.codec import to_text


def judged(context: Context) -> dict[str, Any]:
    """Return the fields that `report --format json` adds, besides the findings. Times are whole nanoseconds."""
    return {
        "bottlenecks": [_view(context, view) for view in context.loops],
        "categories": [
            {"loop": _loop(view), "categories": [_category(one) for one in category_shares(view)]}
            for view in context.loops
        ],
        "not_worth_doing": [
            {"loop": _loop(view), "path": one.section.path, "share": one.share, "speedup": one.saving.speedup}
            for view in context.loops
            for one in not_worth_doing(view)
        ],
    }


def _loop(view: LoopView) -> str | None:
    return view.path if view.loop else None


def _view(context: Context, view: LoopView) -> dict[str, Any]:
    return {
        "loop": _loop(view),
        "ticks": view.ticks,
        **{name: round(getattr(view, name)) for name in ("tick_ns", "slack_ns", "recorder_ns")},
        "sections": [_section(one) for one in context.bottlenecks if one.view is view],
    }


def _section(one: Bottleneck) -> dict[str, Any]:
    ceiling, of_loop = one.saving, None if one.view.loop is None else one.saving
    return {
        "path": one.section.path,
        "kind": kind_of(one),
        "category": one.section.category,
        "self_ns": round(one.section.concurrent_ns if one.section.is_parallel else one.section.self_ns),
        "share": one.share,
        "call_ns": None if one.call_ns is None else round(one.call_ns),
        "calls": round(one.section.calls * one.view.ticks),
        "hz": None if of_loop is None else of_loop.hz,
        "free_hz": None if of_loop is None else of_loop.free_hz,
        "speedup": None if ceiling is None else ceiling.speedup,
        **{name: getattr(one, name) for name in ("score", "memory_bytes", "device_memory_bytes")},
    }


def kind_of(one: Bottleneck) -> str:
    """Return the mark that a section has (docs/bottlenecks.md explains them), or `work` if it has none."""
    section = one.section
    if section.is_parallel:
        return "concurrent"
    if section.is_slack:
        return "slack"
    return "wait" if section.is_wait else "loop" if section.is_loop else "work"


def _category(one: CategoryShare) -> dict[str, Any]:
    return {"name": one.name, "self_ns": round(one.ns), "share": one.share, "sections": one.sections}


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile, all its findings and all its bottlenecks as JSON and a newline."""
    context = Context(profile, options.settings)
    return written(context, findings_in(context))


def written(context: Context, found: Sequence[Finding]) -> bytes:
    """Return the same for a profile whose context exists already."""
    fields = context.profile.to_dict([finding_fields(finding) for finding in found])
    tree = fields.pop("tree")  # stays last: it is written piece by piece
    apart = {name: _rows(time) for name, time in sampled_apart(context.profile).items()}
    add_samples(tree, sampled_times(context.profile))
    fields |= {"sampled_apart": apart} if apart else {}
    return to_text({**fields, **judged(context), "tree": tree}).encode() + b"\n"


def add_samples(tree: dict[str, Any], sampled: Mapping[str, SampledTime]) -> None:
    """Add to each node of a written tree the functions that stack samples found in its self time."""
    waiting = [tree] if sampled else []
    while waiting:
        node = waiting.pop()
        children = node["children"]
        waiting.extend(children)
        if node["path"] in sampled:
            node["sampled"] = _rows(sampled[node["path"]])
            node["children"] = node.pop("children")  # stays last


def _rows(time: SampledTime) -> list[dict[str, Any]]:
    return [asdict(row) for row in time.rows()]
