"""speedscope files, as the importer of its npm package reads them, run by Node."""

from __future__ import annotations

import base64
import json
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import ticktree
from support.example_profiles import MS, control, training
from support.example_samples import sampled_training
from support.external_readers import SPEEDSCOPE, output_of, program
from support.hostile_profiles import NAMES, hostile, side_by_side
from ticktree.errors import TicktreeError
from ticktree.outputs import EXPORTS, ViewOptions
from ticktree.outputs.stacks import stacks
from ticktree.outputs.tracks import tracks_of
from ticktree.profile import Node, Profile
from ticktree.profile.timeline import CalledNode, Lane, Timeline

IMPORTER = Path(__file__).with_name("speedscope_importer.mjs")


def render_json(profile, timeline=None, **options):
    return EXPORTS["speedscope"].render(profile, ViewOptions(**options), timeline)


def imported(profile, folder, *more, **options):
    node = program("node", "speedscope files were not read by its own importer")
    if not SPEEDSCOPE.is_dir():
        pytest.skip("speedscope files were not read by its own importer: scripts/readers.sh gets it")
    path = folder / "run.speedscope.json"
    path.write_bytes(render_json(profile, *more, **options))
    return json.loads(output_of(node, IMPORTER, SPEEDSCOPE, path))


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile, sampled_training])
def test_the_importer_reads_every_stack_with_its_own_time(make, tmp_path):
    profile = make()
    read = imported(profile, tmp_path)
    for which, concurrent in zip(read["profiles"], (False, True), strict=False):
        assert which["unit"] == "nanoseconds"
        expected = [
            [[name_of(frame) for frame in stack.frames], stack.ns]
            for stack in stacks(profile)
            if stack.is_concurrent is concurrent and stack.ns
        ]
        assert which["stacks"] == expected
        assert which["total"] == sum(ns for _, ns in expected)
    assert len(read["profiles"]) == 1 + any(stack.is_concurrent for stack in stacks(profile))


def recorded():
    """Nested calls in two threads, hostile names among them, and durations that overlap."""
    recorder = ticktree.Recorder(virtual_clock=True, timeline=1000)

    def work():
        for name in NAMES:
            with recorder.section(name):
                recorder.advance(7)
            recorder.advance(1)

    recorder.advance(5 * MS)
    for _ in recorder.loop("train", range(3)):
        with recorder.section("update"):
            recorder.advance(100)
            recorder.record_duration("net", 40e-9)
            recorder.advance(20)
            recorder.record_duration("net", 40e-9)
            with recorder.section("sample"):
                recorder.advance(11)
    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
    return recorder


def test_the_importer_reads_every_call_of_a_timeline_where_and_when_it_was(tmp_path):
    recorder = recorded()
    timeline = recorder.timeline()
    read = imported(recorder.snapshot(), tmp_path, timeline, only="calls")
    tracks = list(tracks_of(timeline))
    assert [one["name"] for one in read["profiles"]] == [
        f"{track.name}: calls one by one" for track in tracks
    ]
    assert len(tracks) == 4  # two threads, and two tracks of what overlaps
    began, ended = int(timeline.start_ns[0]), int(timeline.end_ns.max())
    for track, one in zip(tracks, read["profiles"], strict=True):
        expected = [
            [
                timeline.nodes[timeline.node[call]].name,
                int(timeline.start_ns[call]) - began,
                int(timeline.end_ns[call]) - began,
            ]
            for call in track.calls
        ]
        assert sorted(one["calls"]) == sorted(expected)
        assert one["unit"] == "nanoseconds"
        assert one["total"] == ended - began


def test_totals_and_calls_are_in_one_file_or_each_in_its_own(tmp_path):
    recorder = recorded()
    profile, timeline = recorder.snapshot(), recorder.timeline()
    kinds = {
        only: [one["type"] for one in json.loads(render_json(profile, timeline, only=only))["profiles"]]
        for only in (None, "totals", "calls")
    }
    assert kinds["calls"] == ["evented"] * 4
    assert kinds[None] == ["sampled"] * len(json.loads(render_json(profile))["profiles"]) + kinds["calls"]
    assert render_json(profile, None, only="totals") == render_json(profile)


def test_without_a_timeline_calls_are_refused():
    with pytest.raises(TicktreeError, match="ticktree run --timeline"):
        render_json(training(), only="calls")


def test_processes_are_distinguished_by_their_names():
    lanes = tuple(Lane(f"1-{pid}", pid, "robot", "", pid, "MainThread", 0) for pid in (7, 8))
    start, zero = np.array([1, 2], np.int64), np.zeros(2, np.int64)
    timeline = Timeline(lanes, (CalledNode("a"),), start, start, zero, np.array([0, 1], np.int64))
    document = json.loads(render_json(training(), timeline, only="calls"))
    assert [one["name"] for one in document["profiles"]] == [
        f"robot {pid}, MainThread: calls one by one" for pid in (7, 8)
    ]


def name_of(frame):
    return frame.name + (
        " [sampled]" if frame.is_sampled else " (partly concurrent)" if frame.is_partly_concurrent else ""
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", [training, hostile, recorded])
def test_its_page_shows_the_run_in_chromium(make, tmp_path):
    chromium = program("chromium", "speedscope's page was not opened")
    if not SPEEDSCOPE.is_dir():
        pytest.skip("speedscope's page was not opened: scripts/readers.sh gets it")
    script = tmp_path / "load.js"
    made = make()
    events = (made.snapshot(), made.timeline()) if make is recorded else (made,)
    content = base64.b64encode(render_json(*events, only="calls" if make is recorded else None)).decode()
    script.write_text(f"speedscope.loadFileFromBase64('run.speedscope.json', '{content}')", encoding="utf-8")
    switches = "--headless --no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader"
    page = output_of(
        chromium,
        *switches.split(),
        "--allow-file-access-from-files",
        f"--user-data-dir={tmp_path / 'browser'}",
        "--virtual-time-budget=10000",
        "--dump-dom",
        f"{(SPEEDSCOPE / 'index.html').as_uri()}#localProfilePath={script}",
    )
    shown = re.sub(r"<[^>]*>", " ", page)
    first = "MainThread: calls one by one" if make is recorded else "the run: totals, in no order of time"
    assert first in shown
    assert "Sandwich" in shown
    assert "Something went wrong" not in shown


def test_frames_know_where_they_are_entered(tmp_path):
    frames = {frame["name"]: frame for frame in imported(training(), tmp_path)["profiles"][0]["frames"]}
    assert (frames["actor"]["file"], frames["actor"]["line"]) == ("train.py", 212)
    assert "file" not in frames["entropy"]
    assert frames["root"]["total"] == training().root.total_ns


def test_losses_are_in_the_name():
    assert json.loads(render_json(side_by_side()))["name"] == "ticktree, Not recorded: 3 unwound"


def test_no_stack_has_a_time():
    document = json.loads(render_json(training()))
    assert {profile["type"] for profile in document["profiles"]} == {"sampled"}
    assert all("in no order of time" in profile["name"] for profile in document["profiles"])


def test_the_document_has_the_fields_that_the_schema_requires():
    jsonschema = pytest.importorskip(
        "jsonschema", reason="speedscope files were not compared with their schema"
    )
    schema = SPEEDSCOPE / "file-format-schema.json"
    if not schema.exists():
        pytest.skip("speedscope files were not compared with their schema: scripts/readers.sh gets it")
    recorder = recorded()
    for given in (
        (training(),),
        (hostile(),),
        (Profile.empty(),),
        (recorder.snapshot(), recorder.timeline()),
    ):
        jsonschema.validate(json.loads(render_json(*given)), json.loads(schema.read_text(encoding="utf-8")))


def test_a_frame_is_listed_once_however_many_stacks_it_is_in():
    below = Node(name="step", self_ns=MS, children={"step": Node(name="step", self_ns=MS)})
    document = json.loads(render_json(Profile(root=Node(name="root", children={"step": below}))))
    assert [frame["name"] for frame in document["shared"]["frames"]] == ["root", "step"]
    assert document["profiles"][0]["samples"] == [[0, 1], [0, 1, 1]]
    assert (
        len(NAMES)
        == len({frame["name"] for frame in json.loads(render_json(hostile()))["shared"]["frames"]}) - 1
    )
