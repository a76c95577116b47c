from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from support.example_profiles import MS, control, node, training
from support.example_trainers import straggling_trainer
from support.profile_strategies import profiles
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.profile import Node, Profile

BY = st.sampled_from([None, "process", "thread", "role"])
ESCAPE = re.compile(r"\x1b\[[\d;]*m")


def render_text(profile: Profile, **options) -> str:
    return OUTPUTS["terminal"].render(profile, ViewOptions(**options)).decode()


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles(), st.sampled_from([40, 60, 100, 200]), st.booleans(), BY)
def test_no_line_is_wider_than_the_terminal(profile, width, everything, by):
    text = render_text(profile, width=width, all=everything, call_sites=True, by=by)
    assert [line for line in text.splitlines() if cell_len(line) > width] == []


@pytest.mark.slow
@settings(max_examples=40)
@given(profiles(), BY)
def test_nothing_a_program_named_reaches_the_terminal_as_a_command(profile, by):
    plain = render_text(profile, all=True, call_sites=True, by=by)
    assert all(character == "\n" or character.isprintable() for character in plain)
    colored = render_text(profile, all=True, call_sites=True, color=True, by=by)
    assert ESCAPE.sub("", colored) == plain


@pytest.mark.parametrize("make", [training, control, straggling_trainer])
def test_the_same_profile_gives_the_same_bytes_every_time_and_everywhere(make, monkeypatch):
    first = render_text(make(), color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "20")
    profile = make()
    assert render_text(profile, color=True) == render_text(profile, color=True) == first


def test_without_colours_there_is_no_escape():
    assert "\x1b" not in render_text(control())
    assert "\x1b" in render_text(control(), color=True)


def test_units_and_numbers_are_aligned():
    text = render_text(training(), width=100)
    ends = {
        line.index(match[0])
        for line in text[text.index("A step of train") :].splitlines()[:20]
        if (match := re.search(r"(?<=\d) [mu]s$", line))
    }
    assert len(ends) == 1


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_name_share_and_time_per_step_are_there_at_any_width(width):
    heading = next(
        line for line in render_text(training(), width=width).splitlines() if line.startswith("A step")
    )
    assert heading.split()[-3:] == ["share", "per", "step"]


def test_a_terminal_below_the_minimum_width_gets_the_minimum_width():
    assert render_text(training(), width=1) == render_text(training(), width=40)


def test_losses_are_announced():
    assert "Not recorded: 2 unwound" in render_text(control())
    many = replace(control(), losses={"names_cut": 1, "unwound": 12_345, "none": 0})
    assert "Not recorded: 1 name cut, 12,345 unwound\n" in render_text(many)
    assert "Not recorded" not in render_text(training())


def test_an_empty_profile_is_reported_as_empty():
    assert render_text(Profile.empty()) == "ticktree\n\nNothing was recorded; `ticktree doctor` shows why.\n"


def test_losses_are_announced_even_when_nothing_else_was_recorded():
    text = render_text(Profile(losses={"records_without_memory": 7}))
    assert "Nothing was recorded" in text
    assert "7 records without memory" in text


def test_an_unfinished_run_is_reported_as_unfinished():
    assert "unfinished" in render_text(Profile(metadata={"unfinished": frozenset({True})}))


def test_several_runs_of_one_program_are_named_once_and_their_differences_listed():
    one, other = (
        training(),
        replace(training(), metadata={"name": frozenset({"visual_sac"}), "clock": frozenset({"CNTVCT"})}),
    )
    text = render_text(one + other, width=200, all=True)
    assert "host clock, CNTVCT, TSC" in text


def test_notes_that_do_not_fit_are_below_their_row():
    long = node("sample", [MS], device="because " * 12)
    profile = Profile(root=Node(name="root", children={"sample": long}))
    lines = render_text(profile, width=60, all=True).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("└─ sample"))
    assert lines[at + 1].startswith("     device time unsupported")
    assert "…" in lines[at + 1]


def test_a_gauge_that_counts_is_shown_in_whole_numbers():
    lines = render_text(control(), all=True).splitlines()
    assert next(line for line in lines if line.startswith("queue depth")).split()[2:] == [
        "4",
        "0",
        "2",
        "7",
        "7",
        "20%",
        "5",
    ]
