"""Calls under focus are the same ones after their file was edited above them."""

from __future__ import annotations

import ticktree
from ticktree.analysis.comparison.compare import compare


def profile_of(tree):
    """Of a loop, ten ticks long: names, and below each what it calls."""

    def enter(below):
        for name, further in below.items():
            with recorder.section(name):
                recorder.advance(1000)
                enter(further)

    recorder = ticktree.Recorder(virtual_clock=True)
    ((root, calls),) = tree.items()
    for _ in recorder.loop(root, range(10)):
        enter(calls)
    profile = recorder.snapshot()
    recorder.disable()
    return profile


def compared(base, new):
    entries = compare([profile_of(base)], [profile_of(new)]).entries
    return {(entry.kind, entry.path): entry.verdict for entry in entries}


def test_a_call_whose_line_moved_is_the_same_with_its_descendants():
    base = {
        "A.step : a.py @ L5": {"self.act() | A.act : a.py @ L9": {"f(x) | f : a.py @ L1": {}, "gone": {}}}
    }
    new = {
        "A.step : a.py @ L7": {"self.act() | A.act : a.py @ L12": {"f(x) | f : a.py @ L3": {}, "come": {}}}
    }
    root = "A.step : a.py @ L5"
    act = f"{root}/self.act() | A.act : a.py @ L9"
    found = compared(base, new)
    assert found.keys() == {
        ("loop", root),
        *(("node", path) for path in (root, act, f"{act}/f(x) | f : a.py @ L1")),
        *(("node", path) for path in (f"{act}/gone", f"{act}/come")),
    }
    assert found["loop", root] == found["node", act] == "inconclusive"  # of one short run a side
    assert found["node", f"{act}/gone"] == "only in base"
    assert found["node", f"{act}/come"] == "only in new"


def test_calls_with_the_same_text_are_matched_by_their_order():
    base = {
        "A.step : a.py @ L1": {"f(x) @ L3 | f : b.py @ L1": {"one": {}}, "f(x) @ L4:8 | f : b.py @ L1": {}}
    }
    new = {
        "A.step : a.py @ L1": {"f(x) @ L4 | f : b.py @ L1": {"one": {}}, "f(x) @ L5:8 | f : b.py @ L1": {}}
    }
    assert {path for _, path in compared(base, new)} == {
        "A.step : a.py @ L1",
        "A.step : a.py @ L1/f(x) @ L3 | f : b.py @ L1",
        "A.step : a.py @ L1/f(x) @ L3 | f : b.py @ L1/one",
        "A.step : a.py @ L1/f(x) @ L4:8 | f : b.py @ L1",
    }


def test_with_additional_calls_only_unmoved_ones_match():
    base = {"A.step : a.py @ L1": {"f(x) | f : b.py @ L1": {}}}
    new = {"A.step : a.py @ L1": {"f(x) @ L4 | f : b.py @ L1": {}, "f(x) @ L5 | f : b.py @ L1": {}}}
    found = compared(base, new)
    assert found["node", "A.step : a.py @ L1/f(x) | f : b.py @ L1"] == "only in base"
    assert found["node", "A.step : a.py @ L1/f(x) @ L5 | f : b.py @ L1"] == "only in new"


def test_a_section_of_the_program_is_matched_by_its_name_only():
    found = compared({"train": {"load @ L4": {}}}, {"train": {"load @ L5": {}}})
    assert found["node", "train/load @ L4"] == "only in base"
    assert found["node", "train/load @ L5"] == "only in new"
