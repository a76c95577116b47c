"""A run that a real Prometheus reads while it goes on, and every query of the dashboard on what it has read."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from types import ModuleType

import pytest

from support.command_line import CommandLine
from support.prometheus_server import Prometheus
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory

ROOT = Path(__file__).parents[2]
# Each reading measures the clock's scale over a longer time: a first one is within 50 parts in a million.
CLOCK_SCALE = 5e-5

# Once somebody reads: a loop with a rate that misses it, a child process, a wait, something that cannot be recorded,
# and names that have to be escaped; and then nothing more, until everybody has read the totals.
PROGRAM = """
import sys, time, subprocess, ticktree
sys.stdin.readline()
child = "import ticktree, time\\nfor _ in ticktree.loop('play', range(150)):\\n    time.sleep(0.02)"
process = subprocess.Popen([sys.executable, "-c", child])
for tick in ticktree.loop("control", range(160), hz=50, pace=True, warmup=3):
    with ticktree.section("observe", wait=True):
        time.sleep(0.002)
    with ticktree.section('act "quick\\\\ly"\\n'):
        time.sleep(0.030 if tick % 10 == 9 else 0.004)
outer, inner = ticktree.section("outer"), ticktree.section("inner")
outer.__enter__(), inner.__enter__(), outer.__exit__(None, None, None)
process.wait()
print("recorded", flush=True)
sys.stdin.readline()
"""


def dashboard_maker() -> ModuleType:
    path = ROOT / "scripts" / "dashboard.py"
    spec = importlib.util.spec_from_file_location("dashboard_maker", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MAKER = dashboard_maker()


@dataclass
class PrometheusRun:
    """What is known of a run by those who read it, and in the end by itself."""

    profile: Profile
    classic: Prometheus
    native: Prometheus
    quantiles: dict[float, float]


@pytest.fixture(scope="module")
def prometheus_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusRun]:
    directory = tmp_path_factory.mktemp("fleet")
    here = CommandLine(directory)
    here.write("train.py", PROGRAM)
    run = here.start("run", "--prometheus", "0", "--out", "runs", "train.py")
    try:
        line = run.stderr.readline()
        page = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", line)
        assert page is not None, line
        with (
            Prometheus(directory / "classic", page[1]) as classic,
            Prometheus(directory / "native", page[1], "--enable-feature=native-histograms") as native,
        ):
            for prometheus in (classic, native):
                prometheus.wait_for("up == 1", "it does not read")
            run.stdin.write("\n")
            run.stdin.flush()
            assert run.stdout.readline() == "recorded\n"
            for prometheus in (classic, native):
                # Several times: what only the last reading has would lie between two points of a panel.
                ended = 'ticktree_section_calls_total{path="Popen.wait"}'
                prometheus.wait_for(
                    f"count_over_time({ended}[1m]) >= 4 and {ended} == 1", "it did not read the end"
                )
            # Now: of a run that has ended it has no values, and no way to ask for the last native histogram.
            name = 'ticktree_loop_tick_nanoseconds{loop="control"}'
            series_by_q = {q: native.query(f"histogram_quantile({q}, {name})") for q in (0.5, 0.9, 0.99)}
            end(run)
            quantiles = {q: float(series["value"][1]) for q, (series,) in series_by_q.items()}
            yield PrometheusRun(RunDirectory.newest(directory / "runs").profile(), classic, native, quantiles)
    finally:
        run.kill()
        run.wait()


def end(run: Popen[str]) -> None:
    _, line = run.communicate("\n", timeout=500)
    assert run.returncode == 0, line


def expressions() -> list[str]:
    return [query.expression for panel in MAKER.PANELS for query in panel.queries]


def fill_in(expression: str) -> str:
    """What Grafana makes of an expression before it asks: everything is chosen, of the last minute."""
    for name, value in (
        ("$__rate_interval", "1m"),
        ("$__range", "1m"),
        *((f"${name}", ".*") for name, _ in MAKER.VARIABLES),
    ):
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(expressions())))
@pytest.mark.parametrize("server", ["classic", "native"])
def test_every_query_of_the_dashboard_has_data(
    prometheus_run: PrometheusRun, server: str, number: int
) -> None:
    expression = expressions()[number]
    series_by_q = getattr(prometheus_run, server).query_range(fill_in(expression))
    values = [float(value) for series in series_by_q for _, value in series["values"]]
    assert [value for value in values if value == value], expression


@pytest.mark.slow
def test_what_it_has_read_is_what_the_run_holds_in_the_end(prometheus_run: PrometheusRun) -> None:
    from ticktree.outputs.writing.visible import visible

    nodes = {visible(path): node for path, _, node in prometheus_run.profile.root.walk() if path}
    for prometheus in (prometheus_run.classic, prometheus_run.native):

        def values_by(label: str, expression: str, prometheus: Prometheus = prometheus) -> dict[str, float]:
            # As it was last read: a run that has ended has no values of now.
            series_by_q = prometheus.query(f"last_over_time({expression}[5m])")
            return {series["metric"].get(label, ""): float(series["value"][1]) for series in series_by_q}

        assert values_by("path", "ticktree_section_calls_total") == {
            path: node.count for path, node in nodes.items()
        }
        assert values_by("path", "ticktree_section_own_seconds_total") == pytest.approx(
            {path: node.self_ns / 1e9 for path, node in nodes.items()}
            | {"": values_by("path", "ticktree_section_own_seconds_total")[""]},  # it went on
            rel=CLOCK_SCALE,
        )
        assert values_by("loop", "ticktree_loop_missed_ticks_total") == {
            "control": prometheus_run.profile.loops["control"].missed
        }
        assert values_by("what", "ticktree_not_recorded_total") == dict(prometheus_run.profile.losses)
        assert values_by("loop", "ticktree_loop_tick_seconds_count")["control"] == 157


@pytest.mark.slow
def test_a_native_histogram_has_the_percentiles_of_the_run_within_a_bucket(
    prometheus_run: PrometheusRun,
) -> None:
    stats = prometheus_run.profile.loops["control"].stats
    for q, ns in prometheus_run.quantiles.items():
        assert ns == pytest.approx(stats.quantile_ns(q), rel=0.05)


def test_the_dashboard_that_is_committed_is_the_one_that_is_made() -> None:
    assert MAKER.TARGET.read_text(encoding="utf-8") == MAKER.written()


def test_grafanas_own_models_know_every_field_of_the_dashboard() -> None:
    reason = "the dashboard was not read by Grafana's models: there is no grafana-foundation-sdk"
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason=reason)
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    plugins.register_default_plugins()
    dashboard = json.loads(MAKER.TARGET.read_text(encoding="utf-8"))
    parsed = json.loads(json.dumps(models.Dashboard.from_json(dashboard), cls=JSONEncoder))
    assert differences(dashboard, parsed) == []


def differences(dashboard: object, parsed: object, path: str = "") -> list[str]:
    """Return the paths of values in `dashboard` that are missing or different in `parsed`."""
    if isinstance(dashboard, dict) and isinstance(parsed, dict):
        return [
            difference
            for key, value in dashboard.items()
            for difference in (
                [f"{path}/{key}"] if key not in parsed else differences(value, parsed[key], f"{path}/{key}")
            )
        ]
    if isinstance(dashboard, list) and isinstance(parsed, list) and len(dashboard) == len(parsed):
        return [
            p
            for n, pair in enumerate(zip(dashboard, parsed, strict=True))
            for p in differences(*pair, f"{path}/{n}")
        ]
    return [] if dashboard == parsed else [f"{path}: {dashboard!r} became {parsed!r}"]
