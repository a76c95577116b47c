from __future__ import annotations

import pytest

import ticktree
from ticktree.analysis.budgets.measures import BudgetError, Subjects


@pytest.fixture
def named(run):
    subjects = Subjects(run())
    return lambda name: [(subject.kind, subject.path) for subject in subjects.named(name)]


def recorded(*names, gauges=()):
    recorder = ticktree.Recorder(virtual_clock=True)
    for path in names:
        sections = [recorder.section(name) for name in path]
        for section in sections:
            section.__enter__()
        recorder.advance(1000)
        for section in reversed(sections):
            section.__exit__(None, None, None)
    for name in gauges:
        recorder.gauge(name, 1)
    profile = recorder.snapshot()
    recorder.disable()
    return Subjects(profile)


def test_a_path_names_its_section_and_a_loops_path_the_loop(named):
    assert named("control/act") == [("node", "control/act")]
    assert named("control") == [("loop", "control")]


def test_the_end_of_one_path_is_enough(named):
    assert named("inference") == [("node", "control/act/inference")]
    assert named("act/send") == [("node", "control/act/send")]


def test_the_end_of_several_paths_is_refused_with_all_of_them():
    subjects = recorded(("a", "x"), ("b", "x"))
    with pytest.raises(BudgetError, match=r"several paths: a/x, b/x"):
        subjects.named("x")
    assert [subject.path for subject in subjects.named("**/x")] == ["a/x", "b/x"]


def test_a_name_with_a_slash_needs_no_escape_if_it_is_unambiguous():
    subjects = recorded(("loop", "api/step"), ("loop", "save"))
    for name in (r"loop/api\/step", "loop/api/step", "api/step"):
        assert [subject.path for subject in subjects.named(name)] == [r"loop/api\/step"]
    both = recorded(("loop", "api/step"), ("loop/api", "step"))
    with pytest.raises(BudgetError, match=r"several paths: .*loop/api\\/step"):
        both.named("loop/api/step")


def test_the_end_of_a_path_consists_of_complete_names(named):
    with pytest.raises(BudgetError, match="nothing in this run is called 'ference'"):
        named("ference")


def test_a_star_matches_a_part_of_one_name_and_two_stars_any_number_of_names(named):
    assert named("control/*") == [("node", "control/act")]
    assert named("control/act/*n*") == [("node", "control/act/inference"), ("node", "control/act/send")]
    assert named("control/**/send") == [("node", "control/act/send")]
    assert named("**") == [
        ("loop", "control"),
        ("node", "control/act"),
        ("node", "control/act/inference"),
        ("node", "control/act/send"),
    ]


def test_a_name_with_a_star_matches_itself_first():
    assert [subject.path for subject in recorded(("a*",), ("ab",)).named("a*")] == ["a*"]


def test_other_special_characters_in_a_pattern_are_literal():
    subjects = recorded(("[ab]x",), ("ax",), ("a.x",))
    assert [subject.path for subject in subjects.named("[ab]*")] == ["[ab]x"]
    assert [subject.path for subject in subjects.named("a.*")] == ["a.x"]


def test_a_slash_in_a_name_is_escaped_as_it_is_in_paths():
    assert [subject.path for subject in recorded(("a/b", "c")).named(r"a\/b/*")] == [r"a\/b/c"]


def test_a_gauge_is_addressed_by_its_name_or_with_a_prefix(named):
    assert named("queue depth") == [("gauge", "queue depth")]
    subjects = recorded(("depth",), gauges=["depth", "depth of two"])
    assert [subject.kind for subject in subjects.named("depth")] == ["node"]
    assert [subject.kind for subject in subjects.named("gauge:depth")] == ["gauge"]
    assert [subject.path for subject in subjects.named("gauge:depth*")] == ["depth", "depth of two"]


def test_an_unknown_name_is_refused_with_a_suggestion(named):
    with pytest.raises(BudgetError, match="did you mean 'control/act/inference'"):
        named("control/act/infernce")
    with pytest.raises(BudgetError, match="nothing in this run is called 'gauge:depht'"):
        named("gauge:depht")


def test_calls_in_focus_can_be_addressed_by_their_short_names():
    whole = "Driver.step : drive.py @ L51"
    step, merge = (
        "self._env.step(a) | Env.step : drive.py @ L32",
        "self._merge(a) | Merger.step : drive.py @ L9",
    )
    subjects = recorded((whole, step), (whole, merge))

    def paths(name):
        return [subject.path for subject in subjects.named(name)]

    assert paths("Driver.step") == paths(whole) == [whole]
    assert paths("Driver.step/Env.step") == [f"{whole}/{step}"]
    assert paths("Merger.step") == [f"{whole}/{merge}"]
    assert len(paths("Driver.step/*")) == 2
    with pytest.raises(BudgetError, match=r"nothing in this run is called 'Env\.stop'"):
        paths("Env.stop")
