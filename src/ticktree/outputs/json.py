"""The report for programs: the profile as it is saved, and what the analysis adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ticktree.analysis import Finding
from ticktree.analysis.bottlenecks import Bottleneck, CategoryShare, category_shares, not_worth_doing
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.analysis.sampled import SampledTime, sampled_threads, sampled_times
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.sentences.facts import finding_fields
from ticktree.profile import Profile
from ticktree.profile.codec import to_text


def analysis_fields(context: Context) -> dict[str, Any]:
    """Return the fields that `report --format json` adds, besides the findings. Times are whole nanoseconds."""
    loops = [(view.path if view.loop else None, view) for view in context.loops]
    return {
        "bottlenecks": [{"loop": loop, **_loop_fields(context, view)} for loop, view in loops],
        "categories": [
            {"loop": loop, "categories": [_category_fields(item) for item in category_shares(view)]}
            for loop, view in loops
        ],
        "not_worth_doing": [
            {"loop": loop, "path": item.section.path, "share": item.share, "speedup": item.saving.speedup}
            for loop, view in loops
            for item in not_worth_doing(view)
        ],
    }


def _loop_fields(context: Context, view: LoopView) -> dict[str, Any]:
    return {
        "ticks": view.ticks,
        **{name: round(getattr(view, name)) for name in ("tick_ns", "slack_ns", "recorder_ns")},
        "sections": [_section_fields(item) for item in context.bottlenecks if item.view is view],
    }


def _category_fields(item: CategoryShare) -> dict[str, Any]:
    return {"name": item.name, "self_ns": round(item.ns), "share": item.share, "sections": item.sections}


def _section_fields(item: Bottleneck) -> dict[str, Any]:
    saving, loop_saving = item.saving, None if item.view.loop is None else item.saving
    return {
        "path": item.section.path,
        "kind": kind_of(item),
        "category": item.section.category,
        "self_ns": round(item.section.concurrent_ns if item.section.is_parallel else item.section.self_ns),
        "share": item.share,
        "call_ns": None if item.call_ns is None else round(item.call_ns),
        "calls": round(item.section.calls * item.view.ticks),
        "hz": None if loop_saving is None else loop_saving.hz,
        "free_hz": None if loop_saving is None else loop_saving.free_hz,
        "speedup": None if saving is None else saving.speedup,
        **{name: getattr(item, name) for name in ("score", "memory_bytes", "device_memory_bytes")},
    }


def kind_of(bottleneck: Bottleneck) -> str:
    """Return the mark of a section (docs/bottlenecks.md explains them); `work` without one."""
    section = bottleneck.section
    if section.is_parallel:
        return "concurrent"
    if section.is_slack:
        return "slack"
    return "wait" if section.is_wait else "loop" if section.is_loop else "work"


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile, all its findings and all its bottlenecks as JSON and a newline."""
    context = Context(profile, options.settings)
    return report_json(context, findings_in(context))


def report_json(context: Context, findings: Sequence[Finding]) -> bytes:
    """Return the same for a profile whose context exists already."""
    fields = context.profile.to_dict([finding_fields(finding) for finding in findings])
    tree = fields.pop("tree")  # stays last: it is written piece by piece
    apart_rows = {name: _rows(time) for name, time in sampled_threads(context.profile).items()}
    add_samples(tree, sampled_times(context.profile))
    fields |= {"sampled_apart": apart_rows} if apart_rows else {}
    return to_text({**fields, **analysis_fields(context), "tree": tree}).encode() + b"\n"


def add_samples(tree: dict[str, Any], sampled: Mapping[str, SampledTime]) -> None:
    """Add to each node of a written tree the functions that stack samples found in its self time."""
    to_visit = [tree] if sampled else []
    while to_visit:
        node = to_visit.pop()
        children = node["children"]
        to_visit.extend(children)
        if node["path"] in sampled:
            node["sampled"] = _rows(sampled[node["path"]])
            node["children"] = node.pop("children")  # stays last


def _rows(time: SampledTime) -> list[dict[str, Any]]:
    return [asdict(row) for row in time.rows()]
