from __future__ import annotations

import pytest
from parallel_trainer.options import parse


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_defaults_are_four_workers_by_spawn_that_learn_in_turn():
    options = parse([])
    assert (options.plan.workers, options.plan.start_method, options.threaded) == (4, "spawn", False)
    assert options.plan.environment == "InvertedPendulum-v5"
    assert options.plan.delays_ms == ()


def test_quick_is_a_preset_that_other_options_override():
    assert parse(["--quick"]).plan.steps < parse([]).plan.steps
    assert parse(["--quick", "--steps", "77"]).plan.steps == 77
    assert parse(["--quick", "--steps", "77"]).plan.workers == parse(["--quick"]).plan.workers


def test_stragglers_are_named_with_their_delay():
    assert parse(["--slow-worker", "2=5", "--slow-worker", "0=0.5"]).plan.delays_ms == ((2, 5.0), (0, 0.5))


def test_files_are_called_after_the_run_and_their_directory_is_made(tmp_path):
    options = parse(["--run-id", "first", "--results-dir", "a/b"])
    assert str(options.timers) == "a/b/first_timers.json"
    assert (tmp_path / "a" / "b").is_dir()


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for option in (
        "--env",
        "--workers",
        "--steps",
        "--seed",
        "--quick",
        "--threaded",
        "--lockstep",
        "--batched",
        "--start-method",
        "--slow-worker",
        "--run-id",
        "--results-dir",
    ):
        assert option in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--workers", "0"], "0 is less than 1"),
        (["--workers", "5000"], "--workers 5000: no more than 1000"),
        (["--steps", "many"], "'many' is not a whole number"),
        (["--env", "NoSuchTask-v7"], "--env NoSuchTask-v7:"),
        (["--start-method", "thread"], "invalid choice"),
        (["--slow-worker", "3"], "'3' is not a worker's number, =, and milliseconds"),
        (["--slow-worker", "4=1"], "--slow-worker 4: workers are numbered from 0 to 3"),
        (["--run-id", "../up"], "--run-id ../up is no name of a file"),
        (["--results-dir", "file/below"], "--results-dir file/below: "),
    ],
)
def test_what_makes_no_sense_is_one_line_and_status_2(arguments, complaint, capsys, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err.splitlines()[-1]
