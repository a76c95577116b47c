"""pprof files, as `go tool pprof` reads them, and as protobuf's own decoder does with the fields of profile.proto."""

from __future__ import annotations

import gzip
import re

import pytest

from support.example_profiles import MS, control, training
from support.example_samples import sampled_training
from support.external_readers import output_of, program
from support.hostile_profiles import NAMES, hostile, side_by_side
from ticktree.outputs import EXPORTS
from ticktree.outputs.writing.visible import encodable
from ticktree.profile import Profile

# The public schema: github.com/google/pprof, proto/profile.proto.
SCHEMA = {
    "Profile": {
        "sample_type": (1, "repeated ValueType"),
        "sample": (2, "repeated Sample"),
        "mapping": (3, "repeated Other"),
        "location": (4, "repeated Location"),
        "function": (5, "repeated Function"),
        "string_table": (6, "repeated string"),
        "duration_nanos": (10, "int64"),
        "comment": (13, "repeated int64"),
        "default_sample_type": (14, "int64"),
    },
    "ValueType": {"type": (1, "int64"), "unit": (2, "int64")},
    "Sample": {
        "location_id": (1, "repeated uint64"),
        "value": (2, "repeated int64"),
        "label": (3, "repeated Label"),
    },
    "Label": {"key": (1, "int64"), "str": (2, "int64"), "num": (3, "int64")},
    "Location": {"id": (1, "uint64"), "line": (4, "repeated Line")},
    "Line": {"function_id": (1, "uint64"), "line": (2, "int64")},
    "Function": {
        "id": (1, "uint64"),
        "name": (2, "int64"),
        "system_name": (3, "int64"),
        "filename": (4, "int64"),
    },
    "Other": {},
}


def render_pprof(profile):
    return EXPORTS["pprof"].render(profile)


def decoded(profile):
    pytest.importorskip("google.protobuf", reason="pprof files were not read by protobuf's own decoder")
    from support.protobuf_schemas import message_class

    return message_class("Profile", SCHEMA).FromString(gzip.decompress(render_pprof(profile)))


def samples(read):
    """Stacks from the outermost on, with their calls and their concurrent self time and that on the path."""
    words = read.string_table
    functions = {function.id: words[function.name] for function in read.function}
    names = {location.id: functions[location.line[0].function_id] for location in read.location}
    return {tuple(names[at] for at in reversed(s.location_id)): tuple(s.value) for s in read.sample}


def test_a_section_at_its_place_is_a_sample_and_no_time_is_of_two_kinds():
    read = decoded(side_by_side())
    kinds = [(read.string_table[t.type], read.string_table[t.unit]) for t in read.sample_type]
    assert kinds == [("calls", "count"), ("concurrent", "nanoseconds"), ("wall", "nanoseconds")]
    assert read.string_table[read.default_sample_type] == "wall"
    assert samples(read) == {
        ("root",): (0, 0, MS),
        ("root", "main"): (1, 0, 19 * MS),
        ("root", "main", "rest"): (1, 0, 5 * MS),
        ("root", "main", "tasks"): (2, 0, 20 * MS),
        ("root", "main", "worker"): (1, 10 * MS, 0),
        ("root", "main", "worker", "inner"): (1, 20 * MS, 0),
    }
    labelled = [s for s in read.sample if s.label]
    assert [(read.string_table[s.label[0].key], read.string_table[s.label[0].str]) for s in labelled] == [
        ("partly", "concurrent")
    ]


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile, Profile.empty])
def test_what_the_messages_point_to_is_there(make):
    read = decoded(make())
    assert read.string_table[0] == ""
    assert len(set(read.string_table)) == len(read.string_table)
    functions = {function.id for function in read.function}
    locations = {location.id for location in read.location}
    assert 0 not in functions | locations
    assert {line.function_id for location in read.location for line in location.line} == functions
    assert {at for sample in read.sample for at in sample.location_id} == locations
    assert read.duration_nanos == make().root.total_ns


def test_hostile_names_are_there():
    names = {stack[-1] for stack in samples(decoded(hostile()))}
    assert {encodable(name) or "\\e" for name in NAMES if name != "\\e"} <= names


def test_places_and_losses_are_there():
    read = decoded(training())
    lines = {
        (read.string_table[f.filename], location.line[0].line)
        for location in read.location
        for f in read.function
        if f.id == location.line[0].function_id
    }
    assert ("train.py", 212) in lines
    comments = [decoded(side_by_side()).string_table[at] for at in decoded(side_by_side()).comment]
    assert "Not recorded: 3 unwound" in comments


def test_the_same_profile_gives_the_same_bytes():
    assert render_pprof(training()) == render_pprof(training())


def go_tool_output(profile, folder, *words):
    go = program("go", "pprof files were not read by go tool pprof")
    path = folder / "run.pb.gz"
    path.write_bytes(render_pprof(profile))
    root = str(go.resolve().parents[1])
    places = {"GOROOT": root, "HOME": str(folder), "GOCACHE": str(folder), "PPROF_TMPDIR": str(folder)}
    return output_of(
        go, "tool", "pprof", "-unit=ns", "-nodefraction=0", "-nodecount=10000", *words, path, **places
    )


@pytest.mark.parametrize("make", [training, control, side_by_side])
def test_go_tool_pprof_lists_every_section_with_its_own_time_and_what_is_below(make, tmp_path):
    profile = make()
    said = go_tool_output(profile, tmp_path, "-top")
    rows = re.findall(r"^ *(\d+)(?:ns)? +\S+ +\S+ +(\d+)(?:ns)? +\S+  (.*)$", said, re.MULTILINE)
    listed = {name: (int(flat), int(together)) for flat, together, name in rows}
    by_name = {}
    for stack, (_, _, wall) in samples(decoded(profile)).items():
        by_name[stack[-1]] = by_name.get(stack[-1], 0) + wall
    for name, self_ns in by_name.items():
        if self_ns:
            assert listed[name][0] == self_ns
    root_ns = sum(by_name.values())
    assert listed["root"][1] == root_ns
    assert f"{root_ns}ns total" in said


def test_go_tool_pprof_shows_what_ran_concurrently_and_what_was_lost(tmp_path):
    concurrent = go_tool_output(side_by_side(), tmp_path, "-sample_index=concurrent", "-top")
    assert f"{30 * MS}ns total" in concurrent
    assert "Not recorded: 3 unwound" in go_tool_output(side_by_side(), tmp_path, "-comments")


def test_go_tool_pprof_reads_hostile_names(tmp_path):
    assert "日本語" in go_tool_output(hostile(), tmp_path, "-top")


def test_what_was_sampled_has_lines_and_no_calls_and_is_together_the_own_time():
    read = decoded(sampled_training())
    words = read.string_table
    functions = {each.id: (words[each.name], words[each.filename]) for each in read.function}
    lines = {each.id: (*functions[each.line[0].function_id], each.line[0].line) for each in read.location}
    own = [
        (lines[s.location_id[0]], tuple(s.value))
        for s in read.sample
        if "[sampled]" in lines[s.location_id[0]][0]
    ]
    assert {where for where, _ in own} == {
        ("main [sampled]", "/home/ada/train.py", 40),
        ("Agent.update [sampled]", "/home/ada/train.py", 12),
        ("crunch [sampled]", "/home/ada/lib.py", 7),
        ("crunch [sampled]", "/home/ada/lib.py", 9),
        ("nap [sampled]", "/home/ada/lib.py", 3),
        ("(suspended) [sampled]", "", 0),
    }
    root = sampled_training().root
    assert sum(wall for _, (_, _, wall) in own) == root.self_ns + root.at("train/update").self_ns
    assert not any(calls or concurrent for _, (calls, concurrent, _) in own)
