"""Section names of any bytes and length."""

from __future__ import annotations

import enum

import numpy
import pytest

from support.recorder.queries import counts, losses
from ticktree.profile import path as paths


def names(recorder):
    return [paths.split(path)[-1] for path, _, _ in recorder.snapshot().root.walk() if path]


@pytest.mark.parametrize(
    ("raw_name", "text"),
    [
        ("", "(empty)"),
        ("a/b", "a/b"),
        ("back\\slash", "back\\slash"),
        ("x\0y", "x\0y"),
        ("\x1b[31mred", "\x1b[31mred"),
        ("שלום עולם", "שלום עולם"),
        ("\U0001f995", "\U0001f995"),
        ("</script>", "</script>"),
        ("new\nline", "new\nline"),
        ("\ud800", "\\ud800"),
        ("a\udcffb", "a\\udcffb"),
        ("root", "root"),
    ],
)
def test_a_name_is_shown_as_the_program_wrote_it(recorder, raw_name, text):
    with recorder.section(raw_name):
        pass
    assert names(recorder) == [text]
    assert losses(recorder) == {}


def test_a_name_of_a_kind_of_text_is_a_name_like_any(recorder):
    class Kind(str, enum.Enum):  # noqa: UP042 - whose str() is not its text
        SAMPLE = "sample"

    for name in ("sample", numpy.str_("sample"), Kind.SAMPLE):
        with recorder.section(name):
            pass
        recorder.gauge(name, 1)
        recorder.record_duration(name, 0)
        recorder.timed(name)(lambda: None)()
        recorder.section(name, wait=True)
    node_paths = counts(recorder)
    assert set(node_paths) - {"sample"} <= {str(Kind.SAMPLE)}
    assert sum(node_paths.values()) == 9


@pytest.mark.parametrize("length", [254, 255, 256, 10_000])
def test_a_long_name_is_cut_and_counted(recorder, length):
    with recorder.section("n" * length):
        pass
    assert names(recorder) == ["n" * min(length, 255)]
    assert losses(recorder) == ({"names_cut": 1} if length > 255 else {})


@pytest.mark.parametrize("letter", ["é", "語", "\U0001f995"])
def test_a_long_name_is_never_cut_inside_a_letter(recorder, letter):
    with recorder.section("x" + letter * 200):
        pass
    (text,) = names(recorder)
    assert text == "x" + letter * (254 // len(letter.encode()))


def test_names_that_are_the_same_once_cut_are_one_node(recorder):
    for end in "ab":
        with recorder.section("n" * 300 + end):
            pass
    assert list(counts(recorder).values()) == [2]


def test_all_other_names_may_be_anything_too(recorder):
    name = "\ud800/" + "x" * 300
    for _ in recorder.loop(name, range(2)):
        recorder.stage(name)
        recorder.record_duration(name, 1e-9)
        recorder.gauge(name, 1)
    recorder.tick(name)
    recorder.timed(name)(lambda: None)()
    profile = recorder.snapshot()
    profile.check()
    assert len(profile.gauges) == 1
    assert profile.losses["names_cut"] >= 1
    assert type(profile).from_json(profile.to_json()).root == profile.root


@pytest.mark.slow
def test_names_past_the_cap_are_counted_and_their_time_stays_in_the_parent(recorder):
    with recorder.section("outer"):
        for number in range(5000):
            with recorder.section(f"name {number}"):
                recorder.advance(1)
    with recorder.section("outer"):
        recorder.advance(1)
    profile = recorder.snapshot()
    outer = profile.root.at("outer")
    assert 4000 < len(outer.children) < 4096
    assert sum(profile.losses.values()) == 5000 - len(outer.children)
    assert (outer.count, outer.total_ns) == (2, 5001)


def test_sections_past_the_cap_of_names_nest_and_unwind_like_any(recorder):
    for number in range(5000):
        recorder.section(f"name {number}")
    before = counts(recorder)
    with recorder.section("new a"), recorder.section("name 1"), recorder.section("new b"):
        recorder.advance(1)
    assert losses(recorder) == {"calls_over_name_cap": 2, "calls_over_node_cap": 1}
    assert counts(recorder) == before
    with recorder.section("name 1"):
        pass
    assert counts(recorder) == {**before, "name 1": 1}
    assert recorder.snapshot().root.total_ns == 1


@pytest.mark.slow
def test_gauges_and_records_past_the_cap_of_names_are_counted(recorder):
    for number in range(5000):
        recorder.gauge(f"gauge {number}", number)
        recorder.record_duration(f"record {number}", 1e-9)
    profile = recorder.snapshot()
    text = len(profile.gauges) + len(profile.root.children)
    assert text + sum(profile.losses.values()) == 10_000
    profile.check()
