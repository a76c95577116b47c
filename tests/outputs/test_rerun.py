"""Rerun's recordings, as its own reader of such files reads them."""

from __future__ import annotations

import pytest

from support.example_profiles import control, training
from support.hostile_profiles import hostile, side_by_side, unknown_durations
from support.small_run import recorded
from ticktree.errors import TicktreeError
from ticktree.outputs import EXPORTS, ViewOptions
from ticktree.outputs.curves import entity
from ticktree.profile import Profile
from ticktree.profile import path as paths

REASON = "recordings were not read back: there is no rerun-sdk whose RrdReader could"
MS = 1_000_000


def read(content, folder):
    """The rows of every entity: its columns, by their names."""
    rerun = pytest.importorskip("rerun", reason=REASON)
    reader = pytest.importorskip("rerun.chunk", reason=REASON).RrdReader
    path = folder / "run.rrd"
    path.write_bytes(content)
    found: dict = {}
    for chunk in reader(str(path)).stream().to_chunks():
        columns = chunk.to_record_batch()
        rows = found.setdefault(chunk.entity_path, {})
        for name, column in zip(columns.schema.names, columns.columns):
            rows.setdefault(name, []).extend(
                column.cast("int64").to_pylist() if name in ("run", "wall") else column.to_pylist()
            )
    return found, lambda *parts: rerun.new_entity_path(entity(*parts))


def render_rerun(profile, timeline=None, only=None):
    pytest.importorskip("rerun", reason=REASON)
    return EXPORTS["rerun"].render(profile, ViewOptions(only=only), timeline)


def points(rows, timeline="run"):
    return [(at, value) for at, (value,) in zip(rows[timeline], rows["Scalars:scalars"])]


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile])
def test_every_window_of_every_section_is_read_back(make, tmp_path):
    profile = make()
    found, at = read(render_rerun(profile), tmp_path)
    for path, _, node in profile.root.walk():
        if path and node.windows.counts:
            where = ["section", *paths.split(path)]
            windows = node.windows
            ends = [(index + 1) * windows.width_ns for index in sorted(windows.counts)]
            assert points(found[at(*where, "calls")]) == list(
                zip(ends, [windows.counts[i] for i in sorted(windows.counts)])
            )
            totals = points(found[at(*where, "total_ms")])
            assert sum(value for _, value in totals) == pytest.approx(node.stats.sum_ns / MS)
            means = points(found[at(*where, "mean_ms")])
            assert means[0][1] == pytest.approx(totals[0][1] / windows.counts[min(windows.counts)])


@pytest.mark.parametrize("make", [training, control, unknown_durations, hostile])
def test_every_section_and_loop_has_its_totals(make, tmp_path):
    profile = make()
    found, at = read(render_rerun(profile), tmp_path)
    for path, _, node in profile.root.walk():
        if path:
            rows = found[at("section", *paths.split(path))]
            assert rows["calls"] == [[node.count]]
            assert rows["total_ns"] == [[node.total_ns]]
            assert rows["self_ns"] == [[node.self_ns]]
    for path, loop in profile.loops.items():
        rows = found[at("loop", *paths.split(path))]
        assert rows["ticks"] == [[loop.ticks]]
        assert rows.get("missed") == ([[loop.missed]] if loop.hz else None)


def test_worst_ticks_and_the_budget_stand_on_the_runs_time_and_gauges_on_the_clocks(tmp_path):
    profile = control()
    found, at = read(render_rerun(profile), tmp_path)
    for path, loop in profile.loops.items():
        where = ["loop", *paths.split(path)]
        worst = points(found[at(*where, "worst_ms")])
        assert sorted(worst) == sorted((tick.started_ns, tick.duration_ns / MS) for tick in loop.worst)
        if loop.budget_ns:
            assert {value for _, value in points(found[at(*where, "budget_ms")])} == {loop.budget_ns / MS}
    for name, gauge in profile.gauges.items():
        assert points(found[at("gauge", name)], "wall") == [(gauge.last_wall_ns, gauge.last)]


def test_the_report_and_the_losses_are_in_it(tmp_path):
    profile = control()
    found, _ = read(render_rerun(profile), tmp_path)
    assert "control" in found["/report"]["TextDocument:text"][0][0]
    assert ("/not_recorded" in found) == bool(profile.losses)


def test_calls_of_a_timeline_are_points_where_they_began(tmp_path):
    recorder = recorded()
    profile, timeline = recorder.snapshot(), recorder.timeline()
    found, at = read(render_rerun(profile, timeline), tmp_path)
    for path, _, node in profile.root.walk():
        if node.count:
            calls = points(found[at("call", *paths.split(path), "ms")])
            assert len(calls) == node.count
            assert round(sum(value for _, value in calls) * MS) == node.stats.sum_ns
    only, _ = read(render_rerun(profile, timeline, only="calls"), tmp_path)
    assert not any(name.startswith("/section") for name in only)


def test_without_a_timeline_no_call_is_made_up(tmp_path):
    found, _ = read(render_rerun(control()), tmp_path)
    assert not any(name.startswith("/call") for name in found)
    with pytest.raises(TicktreeError, match="ticktree run --timeline"):
        render_rerun(control(), only="calls")


def test_an_empty_profile_is_a_recording_that_can_be_read(tmp_path):
    found, _ = read(render_rerun(Profile.empty()), tmp_path)
    assert set(found) == {"/report"}


def test_without_the_library_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rerun", None)
    with pytest.raises(TicktreeError, match=r"rerun needs rerun: python -m pip install 'ticktree\[rerun\]'"):
        EXPORTS["rerun"].render(control())
