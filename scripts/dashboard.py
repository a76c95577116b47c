#!/usr/bin/env python3
"""Generates dashboards/ticktree.json, for Grafana, from the list of panels below.

    python scripts/dashboard.py

Every query in it is run by the tests against a Prometheus that has read a run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

TARGET = Path(__file__).parents[1] / "dashboards" / "ticktree.json"
# What Grafana 10 writes; later ones bring it up to date as they read it.
SCHEMA_VERSION = 39
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT = 12, 8

INSTANCE = 'instance=~"$instance"'
BY_LOOP = f'{INSTANCE}, loop=~"$loop"'
BY_PATH = f'{INSTANCE}, path=~"$path"'
# Every section but the run itself, whose path is empty.
BY_CHILD = f'{INSTANCE}, path=~"$path", path!=""'
RECENT = "[$__rate_interval]"


class Query(NamedTuple):
    """A query, and what its series are called."""

    expression: str
    legend: str


class Panel(NamedTuple):
    """A panel.

    Attributes:
        title: above it.
        about: behind its (i).
        unit: as Grafana calls it.
        queries: what it shows.
        kind: as Grafana calls it.
        stacked: whether series stand on each other.
    """

    title: str
    about: str
    unit: str
    queries: Sequence[Query]
    kind: str = "timeseries"
    stacked: bool = False


def quantile(q: float, name: str, label: str, chosen: str) -> str:
    """A percentile: of native histograms where there are such, else of classic ones, an octave a bucket."""
    native = f"sum by (instance, {label}) (rate(ticktree_{name}_nanoseconds{{{chosen}}}{RECENT}))"
    classic = f"sum by (instance, {label}, le) (rate(ticktree_{name}_seconds_bucket{{{chosen}}}{RECENT}))"
    return f"histogram_quantile({q}, {native}) / 1e9 or histogram_quantile({q}, {classic})"


def of_the_longest(name: str) -> str:
    """Seconds a second of the 20 sections that take the most in all of the time shown."""
    rate = f"sum by (instance, path) (rate(ticktree_{name}{{{BY_CHILD}}}{RECENT}))"
    longest = f"topk(20, sum by (path) (increase(ticktree_{name}{{{BY_CHILD}}}[$__range] @ end())))"
    return f"{rate} and on (path) {longest}"


TICKS = f"sum by (instance, loop) (rate(ticktree_loop_ticks_total{{{BY_LOOP}}}{RECENT}))"
MISSED_TICKS = f"sum by (instance, loop) (rate(ticktree_loop_missed_ticks_total{{{BY_LOOP}}}{RECENT}))"
LOOP_LEGEND, SECTION_LEGEND = "{{loop}} · {{instance}}", "{{path}} · {{instance}}"

PANELS = (
    Panel(
        "Loop rate",
        "Ticks a second.",
        "hertz",
        [Query(TICKS, LOOP_LEGEND)],
    ),
    Panel(
        "Missed ticks",
        "Ticks over their budget, as a part of all. Only loops with a rate have a budget.",
        "percentunit",
        [Query(f"{MISSED_TICKS} / {TICKS}", LOOP_LEGEND)],
    ),
    Panel(
        "Tick, p50 and p99",
        "How long ticks took, beside what they may take.",
        "s",
        [
            Query(quantile(0.5, "loop_tick", "loop", BY_LOOP), f"p50 {LOOP_LEGEND}"),
            Query(quantile(0.99, "loop_tick", "loop", BY_LOOP), f"p99 {LOOP_LEGEND}"),
            Query(f"ticktree_loop_budget_seconds{{{BY_LOOP}}}", f"budget {LOOP_LEGEND}"),
        ],
    ),
    Panel(
        "Missed in all",
        "Ticks over their budget in the time shown.",
        "short",
        [
            Query(
                f"sum by (instance, loop) (increase(ticktree_loop_missed_ticks_total{{{BY_LOOP}}}[$__range]))",
                LOOP_LEGEND,
            )
        ],
        kind="stat",
    ),
    Panel(
        "Section, p50",
        "Half of the calls took no longer.",
        "s",
        [Query(quantile(0.5, "section_call", "path", BY_PATH), SECTION_LEGEND)],
    ),
    Panel(
        "Section, p99",
        "All but one in a hundred calls took no longer.",
        "s",
        [Query(quantile(0.99, "section_call", "path", BY_PATH), SECTION_LEGEND)],
    ),
    Panel(
        "Own time",
        "Seconds a second in each section and in none below it: these add up. The 20 longest of the time shown.",
        "percentunit",
        [Query(of_the_longest("section_own_seconds_total"), SECTION_LEGEND)],
        stacked=True,
    ),
    Panel(
        "Waiting",
        "Seconds a second in sections that wait.",
        "percentunit",
        [Query(of_the_longest("section_waited_seconds_total"), SECTION_LEGEND)],
        stacked=True,
    ),
    Panel(
        "Not recorded",
        "What ticktree could not record, and sections that it leaves out as there are too many.",
        "short",
        [
            Query(
                f"sum by (instance, what) (ticktree_not_recorded_total{{{INSTANCE}}})",
                "{{what}} · {{instance}}",
            ),
            Query(f"ticktree_sections_left_out{{{INSTANCE}}}", "sections left out · {{instance}}"),
        ],
    ),
    Panel(
        "Cores",
        "Cores that the run and other programs of its machine use, and how long it waits for one.",
        "short",
        [
            Query(
                f'ticktree_reading{{{INSTANCE}, gauge=~"machine/(used|others|waiting)"}}',
                "{{gauge}} · {{instance}}",
            )
        ],
    ),
    Panel(
        "Runs",
        "Which runs these are.",
        "short",
        [
            Query(f"ticktree_run_info{{{INSTANCE}}}", "{{run}} on {{host}}"),
        ],
        kind="table",
    ),
    Panel(
        "Processes, and how old this is",
        "Processes that took part so far, and how long ago the run was read.",
        "short",
        [
            Query(
                f"sum by (instance, role) (ticktree_processes_total{{{INSTANCE}}})", "{{role}} · {{instance}}"
            ),
            Query(
                f"time() - ticktree_read_time_seconds{{{INSTANCE}}}",
                "seconds since it was read · {{instance}}",
            ),
        ],
    ),
)

# Name, what of it is asked, and whether several may be chosen.
VARIABLES = (
    ("instance", "label_values(ticktree_run_info, instance)"),
    ("loop", f"label_values(ticktree_loop_ticks_total{{{INSTANCE}}}, loop)"),
    ("path", f"label_values(ticktree_section_calls_total{{{INSTANCE}}}, path)"),
)


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "uid": "ticktree",
        "title": "ticktree",
        "description": "Loops and sections of programs that run under `ticktree run --prometheus`.",
        "tags": ["ticktree"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [_datasource(), *(_variable(*variable) for variable in VARIABLES)]},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": DATASOURCE,
        "query": query,
        "refresh": 2,  # when the time shown changes
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    queries = [
        {
            "refId": chr(ord("A") + index),
            "expr": query.expression,
            "legendFormat": query.legend,
            "datasource": DATASOURCE,
            **({"instant": True, "range": False, "format": "table"} if panel.kind == "table" else {}),
        }
        for index, query in enumerate(panel.queries)
    ]
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.kind == "timeseries":
        stacking = {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 40}
        defaults["custom"] = {"lineWidth": 1, **(stacking if panel.stacked else {})}
    return {
        "id": number + 1,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": DATASOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": number % 2 * WIDTH, "y": number // 2 * HEIGHT},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": queries,
    }


def written() -> str:
    """The file's content."""
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
