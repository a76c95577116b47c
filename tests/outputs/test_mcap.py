"""MCAP files, as the mcap package's own reader reads them."""

from __future__ import annotations

import io
import json

import pytest

from support.example_profiles import control, training
from support.hostile_profiles import hostile, side_by_side, unknown_durations
from support.small_run import recorded
from ticktree.errors import TicktreeError
from ticktree.outputs import EXPORTS, ViewOptions
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile

REASON = "MCAP files were not read back: there is no mcap"


def read(content):
    """Every message by topic, as (time, fields), and the file's reader."""
    reader = pytest.importorskip("mcap.reader", reason=REASON).make_reader(
        io.BytesIO(content), validate_crcs=True
    )
    messages: dict = {}
    for schema, channel, message in reader.iter_messages():
        assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
        fields = json.loads(message.data)
        assert set(fields) == set(json.loads(schema.data)["properties"]), channel.topic
        messages.setdefault(channel.topic, []).append((message.log_time, fields))
    return messages, reader


def render_mcap(profile, timeline=None, only=None):
    pytest.importorskip("mcap.writer", reason=REASON)
    return EXPORTS["mcap"].render(profile, ViewOptions(only=only), timeline)


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile])
def test_every_window_of_every_section_is_read_back(make):
    profile = make()
    found, _ = read(render_mcap(profile))
    sections = {topic for topic in found if topic.startswith("/ticktree/section/")}
    expected = {visible(path): node for path, _, node in profile.root.walk() if path and node.windows.counts}
    assert sections == {f"/ticktree/section/{path}" for path in expected}
    for path, node in expected.items():
        rows = found[f"/ticktree/section/{path}"]
        width = node.windows.width_ns
        assert [at for at, _ in rows] == [(index + 1) * width for index in sorted(node.windows.counts)]
        assert sum(row["calls"] for _, row in rows) == node.count
        assert sum(row["total_ms"] for _, row in rows) == pytest.approx(node.stats.sum_ns / 1e6)


@pytest.mark.parametrize("make", [training, control, unknown_durations, hostile, Profile.empty])
def test_the_whole_profile_is_in_it_as_tables_and_as_an_attachment(make):
    profile = make()
    found, reader = read(render_mcap(profile))
    rows = {row["path"]: row for row in found["/ticktree/nodes"][0][1]["rows"]}
    assert {path: row["total_ns"] for path, row in rows.items()} == {
        path: node.total_ns for path, _, node in profile.root.walk()
    }
    (attachment,) = reader.iter_attachments()
    assert Profile.from_json(attachment.data) == profile
    (metadata,) = reader.iter_metadata()
    assert set(metadata.metadata) == {*profile.metadata, "title"}


def test_worst_ticks_stand_where_they_began_with_their_breakdown():
    profile = control()
    found, _ = read(render_mcap(profile))
    for path, loop in profile.loops.items():
        ticks = found.get(f"/ticktree/worst_tick/{path}", [])
        assert sorted((at, round(row["duration_ms"] * 1e6)) for at, row in ticks) == sorted(
            (tick.started_ns, tick.duration_ns) for tick in loop.worst
        )


def test_gauges_and_what_was_lost_are_told():
    profile = control()
    found, _ = read(render_mcap(profile))
    for name, gauge in profile.gauges.items():
        ((_, row),) = found[f"/ticktree/gauge/{name}"]
        assert (row["last"], row["readings"]) == (gauge.last, gauge.count)
    assert any("Not recorded" in row["message"] for _, row in found["/ticktree/log"]) == bool(profile.losses)


def test_calls_of_a_timeline_stand_where_they_began():
    recorder = recorded()
    profile, timeline = recorder.snapshot(), recorder.timeline()
    found, _ = read(render_mcap(profile, timeline))
    calls = {
        topic.removeprefix("/ticktree/call/"): rows for topic, rows in found.items() if "/call/" in topic
    }
    assert {
        path: (len(rows), round(sum(row["duration_ms"] for _, row in rows) * 1e6))
        for path, rows in calls.items()
    } == {path: (node.count, node.stats.sum_ns) for path, _, node in profile.root.walk() if node.count}
    began = timeline.began_wall_ns or 0
    starts = [
        int(start) for start, node in zip(timeline.start_ns, timeline.node) if timeline.nodes[node].tick
    ]
    assert [at - began for at, _ in calls["control"]] == starts
    only, _ = read(render_mcap(profile, timeline, only="calls"))
    assert all(topic.startswith("/ticktree/call/") for topic in only)


def test_without_a_timeline_no_call_is_made_up():
    found, _ = read(render_mcap(control()))
    assert not any("/call/" in topic for topic in found)
    with pytest.raises(TicktreeError, match="ticktree run --timeline"):
        render_mcap(control(), only="calls")


def test_without_the_library_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mcap", None)
    monkeypatch.setitem(__import__("sys").modules, "mcap.writer", None)
    with pytest.raises(TicktreeError, match=r"mcap needs mcap: python -m pip install 'ticktree\[mcap\]'"):
        EXPORTS["mcap"].render(control())
