from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_line import CommandLine, assert_one_clear_line
from support.virtual_programs import Program


@pytest.fixture
def trained(here: CommandLine) -> CommandLine:
    """A profile of a loop whose ticks are half env, half wobble."""
    program = Program()
    for _ in program.loop("train", range(300)):  # enough for every percentile
        program.work("env", 20)
        program.work("wobble", 20)
        program.work("sample", 1)
    (here.directory / "trained.json").write_text(program.profile().to_json())
    return here


def configured(here: CommandLine, text: str, folder: str = ".") -> Path:
    return here.write(f"{folder}/pyproject.toml", text)


def judged(here: CommandLine) -> dict:
    done = here.ticktree("report", "trained.json", "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_project_may_have_categories_and_thresholds_of_its_own(trained: CommandLine) -> None:
    assert {each["rule"] for each in judged(trained)["findings"]} == {"critical"}
    configured(
        trained,
        """
        [tool.ticktree.categories]
        "wobbling about" = ["wobble"]
        [tool.ticktree.score.thresholds]
        critical = "60%"
        slow = "15 ms"
        """,
    )
    found = judged(trained)
    assert {each["rule"] for each in found["findings"]} == {"slow"}
    (of_loop,) = found["categories"]
    assert [each["name"] for each in of_loop["categories"]] == ["environment", "wobbling about", "data"]
    text = trained.ticktree("report", "trained.json", "--all").stdout
    assert "wobbling about" in text
    assert " slow ·" in text


def test_it_is_found_from_a_directory_below(trained: CommandLine) -> None:
    configured(trained, '[tool.ticktree.categories]\n"mine" = ["wobble"]\n')
    configured(trained, "[project]\nname = 'x'\n", "inner")
    done = trained.ticktree("report", "../trained.json", "--all", cwd=trained.directory / "inner")
    assert "mine" in done.stdout


def test_a_mistake_in_it_is_one_clear_line(trained: CommandLine) -> None:
    path = configured(trained, "[tool.ticktree.score.thresholds]\nslwo = '5 ms'\n")
    done = trained.ticktree("report", "trained.json")
    assert_one_clear_line(done, str(path), "slwo", "did you mean slow?")


def test_a_program_that_ran_is_shown_whatever_is_in_it(here: CommandLine) -> None:
    here.write("train.py")
    configured(here, "[tool.ticktree.scores]\n")
    done = here.ticktree("run", "train.py")
    assert done.returncode == 0
    assert "scores: there is no such key; did you mean score?; the defaults are used" in done.stderr
    assert "sample" in done.stderr


def test_json_says_what_costs_a_loop_how_much(trained: CommandLine) -> None:
    found = judged(trained)
    (of_loop,) = found["bottlenecks"]
    assert (of_loop["loop"], of_loop["ticks"], of_loop["slack_ns"]) == ("train", 300, 0)
    parts = [section["self_ns"] for section in of_loop["sections"]]
    assert sum(parts) + of_loop["recorder_ns"] == of_loop["tick_ns"] == 41_000_000
    env, wobble, sample = of_loop["sections"]
    assert (env["path"], env["kind"], env["category"]) == ("train/env", "work", "environment")
    assert (wobble["category"], sample["category"]) == (None, "data")  # not "training", as the loop is called
    assert env["speedup"] == pytest.approx(41 / 21)
    assert env["memory_bytes"] is None
    assert [(one["path"], one["loop"]) for one in found["not_worth_doing"]] == [("train/sample", "train")]
    assert list(found)[-1] == "tree"


def test_the_report_says_what_to_do_first_and_what_not(trained: CommandLine) -> None:
    text = trained.ticktree("report", "trained.json", "--all", "--width", "80").stdout
    first = text.partition("Large sections\n")[2].splitlines()[0]
    assert first.startswith(" 1  \N{MINUS SIGN}49%  24.4 → 47.6 steps/s  ")
    assert "env" in first
    assert "Not worth optimizing: sample (at most 1.025×)" in text
