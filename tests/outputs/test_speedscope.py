"""speedscope files, as the importer of its npm package reads them, run by Node."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
from export_readers import SPEEDSCOPE, output_of, program
from hostile_profiles import NAMES, hostile, side_by_side
from invented_profiles import MS, control, training

from ticktree.outputs import EXPORTS
from ticktree.outputs.stacks import stacks
from ticktree.profile import Node, Profile

IMPORTER = Path(__file__).with_name("speedscope_importer.mjs")


def written(profile):
    return EXPORTS["speedscope"].render(profile)


def imported(profile, folder):
    node = program("node", "speedscope files were not read by its own importer")
    if not SPEEDSCOPE.is_dir():
        pytest.skip("speedscope files were not read by its own importer: scripts/readers.sh gets it")
    path = folder / "run.speedscope.json"
    path.write_bytes(written(profile))
    return json.loads(output_of(node, IMPORTER, SPEEDSCOPE, path))


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile])
def test_the_importer_reads_every_stack_with_its_own_time(make, tmp_path):
    profile = make()
    read = imported(profile, tmp_path)
    for which, beside in zip(read["profiles"], (False, True), strict=False):
        assert which["unit"] == "nanoseconds"
        expected = [
            [[name_of(frame) for frame in stack.frames], stack.node.own_ns]
            for stack in stacks(profile)
            if stack.beside is beside and stack.node.own_ns
        ]
        assert which["stacks"] == expected
        assert which["total"] == sum(ns for _, ns in expected)
    assert len(read["profiles"]) == 1 + any(stack.beside for stack in stacks(profile))


def name_of(frame):
    return frame.name + (" (partly beside)" if frame.partly else "")


@pytest.mark.slow
@pytest.mark.parametrize("make", [training, hostile])
def test_its_page_shows_the_run_in_chromium(make, tmp_path):
    chromium = program("chromium", "speedscope's page was not opened")
    if not SPEEDSCOPE.is_dir():
        pytest.skip("speedscope's page was not opened: scripts/readers.sh gets it")
    script = tmp_path / "load.js"
    content = base64.b64encode(written(make())).decode()
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
    assert "the run: totals, in no order of time" in shown
    assert "Sandwich" in shown
    assert "Something went wrong" not in shown


def test_frames_know_where_they_are_entered(tmp_path):
    frames = {frame["name"]: frame for frame in imported(training(), tmp_path)["profiles"][0]["frames"]}
    assert (frames["actor"]["file"], frames["actor"]["line"]) == ("train.py", 212)
    assert "file" not in frames["entropy"]
    assert frames["root"]["total"] == training().root.total_ns


def test_what_was_not_recorded_is_said_in_the_name():
    assert json.loads(written(side_by_side()))["name"] == "ticktree, Not recorded: 3 unwound"


def test_no_stack_is_said_to_be_at_a_time():
    document = json.loads(written(training()))
    assert {profile["type"] for profile in document["profiles"]} == {"sampled"}
    assert all("in no order of time" in profile["name"] for profile in document["profiles"])


def test_the_document_has_what_the_schema_asks_for():
    jsonschema = pytest.importorskip(
        "jsonschema", reason="speedscope files were not compared with their schema"
    )
    schema = SPEEDSCOPE / "file-format-schema.json"
    if not schema.exists():
        pytest.skip("speedscope files were not compared with their schema: scripts/readers.sh gets it")
    for profile in (training(), hostile(), Profile.empty()):
        jsonschema.validate(json.loads(written(profile)), json.loads(schema.read_text(encoding="utf-8")))


def test_a_frame_is_listed_once_however_many_stacks_it_is_in():
    below = Node(name="step", own_ns=MS, children={"step": Node(name="step", own_ns=MS)})
    document = json.loads(written(Profile(root=Node(name="root", children={"step": below}))))
    assert [frame["name"] for frame in document["shared"]["frames"]] == ["root", "step"]
    assert document["profiles"][0]["samples"] == [[0, 1], [0, 1, 1]]
    assert (
        len(NAMES) == len({frame["name"] for frame in json.loads(written(hostile()))["shared"]["frames"]}) - 1
    )
