"""What is judged of a profile, for programs: bottlenecks, categories, what is not worth doing."""

from __future__ import annotations

from typing import Any

from ticktree.analysis.bottlenecks.bottleneck import Bottleneck
from ticktree.analysis.bottlenecks.category_shares import category_shares
from ticktree.analysis.bottlenecks.steps import Frame
from ticktree.analysis.bottlenecks.unworthy import not_worth_doing
from ticktree.analysis.survey import Survey


def judged(seen: Survey) -> dict[str, Any]:
    """Return the fields that `report --format json` adds beside the findings. Times are whole nanoseconds."""
    return {
        "bottlenecks": [_frame(seen, frame) for frame in seen.frames],
        "categories": [_categories(frame) for frame in seen.frames],
        "not_worth_doing": [
            {
                "loop": _loop(frame),
                "path": one.step.path,
                "share": one.share,
                "speedup": one.ceiling.speedup,
            }
            for frame in seen.frames
            for one in not_worth_doing(frame)
        ],
    }


def _loop(frame: Frame) -> str | None:
    return frame.path if frame.loop else None


def _frame(seen: Survey, frame: Frame) -> dict[str, Any]:
    return {
        "loop": _loop(frame),
        "ticks": frame.ticks,
        "tick_ns": round(frame.tick_ns),
        "slack_ns": round(frame.slack_ns),
        "recorder_ns": round(frame.recorder_ns),
        "sections": [_section(one) for one in seen.bottlenecks if one.frame is frame],
    }


def _section(one: Bottleneck) -> dict[str, Any]:
    ceiling = one.ceiling
    return {
        "path": one.step.path,
        "kind": kind_of(one),
        "category": one.step.category,
        "self_ns": round(one.step.beside_ns if one.step.is_parallel else one.step.self_ns),
        "share": one.share,
        "call_ns": None if one.call_ns is None else round(one.call_ns),
        "calls": round(one.step.calls * one.frame.ticks),
        "hz": None if ceiling is None or one.frame.loop is None else ceiling.hz,
        "free_hz": None if ceiling is None or one.frame.loop is None else ceiling.free_hz,
        "speedup": None if ceiling is None else ceiling.speedup,
        "score": one.score,
        "memory_bytes": one.memory_bytes,
        "device_memory_bytes": one.device_memory_bytes,
    }


def kind_of(one: Bottleneck) -> str:
    """Return which of the marks that docs/bottlenecks.md explains a section has, `work` for none."""
    step = one.step
    if step.is_parallel:
        return "beside"
    if step.is_slack:
        return "slack"
    return "wait" if step.is_wait else "loop" if step.is_loop else "work"


def _categories(frame: Frame) -> dict[str, Any]:
    return {
        "loop": _loop(frame),
        "categories": [
            {"name": one.name, "self_ns": round(one.ns), "share": one.share, "sections": one.sections}
            for one in category_shares(frame)
        ],
    }
