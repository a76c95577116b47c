"""The agent's format: small whatever was recorded, with stable keys, and of one voice with the terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from support.example_profiles import control, robot, training
from support.example_samples import sampled_training, unmarked
from support.example_trainers import crowded_trainer, straggling_trainer
from support.hostile_profiles import hostile, side_by_side
from support.profile_strategies import profiles
from support.virtual_programs import Program
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.agent import CHARACTERS_PER_TOKEN, MAX_CHARACTERS, MAX_TOKENS
from ticktree.outputs.view.build import report_view
from ticktree.profile import Profile

KEYS = [
    *("schema", "run", "nothing", "headlines", "warnings", "recommendations", "loops", "self_time"),
    *("not_worth_optimizing", "tree", "sampled", "left_out", "more"),
]


def huge() -> Profile:
    """Two hundred loops that all miss, of sections with long names."""
    program = Program()
    for number in range(200):
        for _ in program.loop(f"{'loop of ' * 30}{number}", range(12), hz=100):
            for section in range(5):
                program.work(f"{'section ' * 40}{number}.{section}", 5)
    return program.profile()


def render_text(profile: Profile, **options) -> str:
    return OUTPUTS["agent"].render(profile, ViewOptions(**options)).decode()


def fields(profile: Profile, **options) -> dict:
    return json.loads(render_text(profile, **options))


def test_the_limit_is_2000_tokens():
    assert (MAX_TOKENS, MAX_CHARACTERS) == (2_000, 2_000 * CHARACTERS_PER_TOKEN)
    assert CHARACTERS_PER_TOKEN <= 4


@pytest.mark.parametrize(
    "make",
    [
        training,
        control,
        robot,
        straggling_trainer,
        crowded_trainer,
        hostile,
        side_by_side,
        huge,
        Profile.empty,
    ],
)
def test_a_run_takes_at_most_2000_tokens_and_has_the_same_keys(make):
    for options in ({"run": "last"}, {"run": "x/" * 2000, "all": True, "by": "process"}):
        text = render_text(make(), **options)
        assert len(text) <= MAX_CHARACTERS
        assert list(json.loads(text)) == KEYS
        assert len(text.splitlines()) == len(KEYS) + 2  # a line per key: for those who read a part of it


@pytest.mark.slow
@settings(max_examples=30)
@given(profiles())
def test_any_profile_takes_at_most_2000_tokens(profile):
    assert len(render_text(profile, run="")) <= MAX_CHARACTERS


@pytest.mark.parametrize("make", [training, control, robot, straggling_trainer])
def test_it_has_the_content_of_the_terminal_view(make):
    view, found = report_view(Context(make()), ViewOptions()), fields(make())
    assert [each["text"] for each in found["recommendations"]] == [each.text for each in view.recommendations]
    assert [each["text"] for each in found["warnings"]] == [each.text for each in view.warnings]
    assert [each["text"].split(", ")[0] for each in found["headlines"]] == [
        each.pieces[0] for each in view.headlines
    ]
    assert [row[0] for row in found["loops"]["rows"]] == [entry.name for entry in view.loops.entries]
    assert len(found["tree"]["rows"]) == len(view.parts[0].tree.entries)
    assert found["left_out"] == ({"recommendations": view.more} if view.more else {})


def test_omitted_rows_are_counted_and_a_loop_that_misses_comes_first():
    found = fields(huge())
    assert found["headlines"][0]["misses"]
    assert found["left_out"]["loops"] + len(found["loops"]["rows"]) == 200


def test_rows_name_their_section_and_their_values_have_units_in_the_keys():
    found = fields(control())
    assert found["tree"]["columns"][:3] == ["section", "share", "ns"]
    assert [row[0] for row in found["tree"]["rows"]] == [
        *("control", "control/sleep (slack)", "control/plan/solve", "control/observe", "control/act")
    ]
    loop = dict(zip(found["loops"]["columns"], found["loops"]["rows"][0], strict=True))
    assert (loop["loop"], loop["missed"], loop["ticks"]) == ("control", 9, 1190)
    assert isinstance(loop["busy_ns"], int)


def test_it_names_the_commands_that_show_more_of_the_run():
    more = list(fields(training(), run="last")["more"].values())
    assert more[:2] == ["ticktree report --all last", "ticktree report --format json last"]
    assert next(iter(fields(training())["more"].values())) == "ticktree report --all"


def test_the_largest_sampled_self_time_is_listed_by_function():
    found = fields(sampled_training())["sampled"]
    assert (found["path"], found["samples"], len(found["rows"])) == ("train/update", 101, 3)
    assert found["rows"][0]["function"] == "crunch"
    assert found["rows"][0]["notes"] == "lib.py:7"
    assert found["rows"][0]["low"] < found["rows"][0]["share"] < found["rows"][0]["high"]
    assert [row["notes"] for row in fields(unmarked())["sampled"]["rows"]] == ["lib.py:7", "lib.py:3, sleeps"]
    assert fields(training())["sampled"] is None


def test_rows_of_functions_have_their_names():
    names = [row[0] for row in fields(sampled_training())["tree"]["rows"]]
    assert "train/update/crunch [sampled]" in names or not any("sampled" in name for name in names)
    assert [row[0] for row in fields(unmarked())["tree"]["rows"]] == ["main", "crunch", "nap"]
