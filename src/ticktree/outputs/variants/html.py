"""Several runs as a page: the numbers of each run's JSON, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ticktree.outputs.html.embedding import page
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.variants.chief import chief_of_all
from ticktree.outputs.variants.facts import apart
from ticktree.outputs.variants.rows import Row, rows
from ticktree.outputs.variants.variant import Variant
from ticktree.outputs.view.headline import headline, losses
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Node
from ticktree.profile.machine import is_empty
from ticktree.profile.metadata import one_or_list, ordered

_LOOP = ("ticks", "warmup_ticks", "achieved_hz", "budget_ns", "missed")
_STATS = ("count", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")


def render(runs: Sequence[Variant], options: ViewOptions) -> bytes:
    """Return the page in UTF-8."""
    said = {
        "runs": [{"label": run.label, **_chief(run)} for run in runs],
        "loops": [
            {"path": path, "of": [_loop(run.profile.loops.get(path)) for run in runs]}
            for path in sorted({path for run in runs for path in run.profile.loops})
        ],
        "rows": [_row(row) for row in rows([run.profile for run in runs])],
    }
    facts = [
        {"key": visible(key), "of": [", ".join(visible(str(one)) for one in ordered(of)) for of in each]}
        for key, each in apart(runs)
    ]
    words = {
        "title": f"{formatting.counted(len(runs), 'run')} side by side",
        "headline": [run.label for run in runs],
        "headlines": [_headline(run, options) for run in runs],
        "losses": [losses(run.profile) for run in runs],
        "facts": facts,
    }
    return page("runs", "variants", json.dumps(said, separators=(",", ":")).encode(), words)


def _headline(run: Variant, options: ViewOptions) -> list[str]:
    return ["nothing was recorded"] if is_empty(run.profile) else headline(run.seen, options)


def _chief(run: Variant) -> dict[str, Any]:
    """Return the loop that matters most in a run, and what costs it most, as `report --format json` has them."""
    found = chief_of_all(run.seen)
    if found is None:
        return {"loop": None, "tick_ns": None, "bottleneck": None}
    ceiling = None if found.one is None else found.one.saving
    is_loop = found.view.loop is not None
    return {
        "loop": found.view.path if is_loop else None,
        "tick_ns": round(found.view.tick_ns),
        "bottleneck": None
        if found.one is None or ceiling is None
        else {
            "path": found.one.section.path,
            "name": found.name,
            "share": found.one.share,
            "hz": ceiling.hz if is_loop else None,
            "free_hz": ceiling.free_hz if is_loop else None,
            "speedup": ceiling.speedup,
        },
    }


def _loop(loop: Loop | None) -> Mapping[str, Any] | None:
    if loop is None:
        return None
    fields = {name: getattr(loop, name) for name in _LOOP}
    return {**fields, "hz": one_or_list(loop.hz), **{name: getattr(loop.stats, name) for name in _STATS}}


def _row(row: Row) -> dict[str, Any]:
    present = [node for node in row.nodes if node is not None]
    return {
        "kind": row.kind,
        "path": row.path,
        "name": row.name,
        "depth": row.depth,
        "wait": any(node.wait for node in present),
        "of": [_cell(row, place, node) for place, node in enumerate(row.nodes)],
    }


def _cell(row: Row, place: int, node: Node | None) -> dict[str, Any] | None:
    if node is None:
        return None
    if row.kind == "self":
        return {"mean_ns": row.mean_ns(place), "share": row.share(place)}
    site = node.call_site
    steady = {name: getattr(node.steady, name) for name in _STATS} if node.steady.count else {"count": 0}
    return {
        **steady,
        "total_ns": node.total_ns,
        "share": row.share(place),
        "site": None if site is None or not site.file else f"{visible(site.file)}:{site.line}",
    }
