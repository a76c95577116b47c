import pytest
from parallel_trainer.train import parse_args


@pytest.fixture(autouse=True)
def _change_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_defaults_are_four_workers_by_spawn_that_learn_in_turn():
    options = parse_args([])
    assert (options.workers, options.start_method, options.threaded) == (4, "spawn", False)
    assert options.env == "InvertedPendulum-v5"
    assert options.slow_worker == []


def test_quick_is_a_preset_that_other_options_override():
    assert parse_args(["--quick"]).steps < parse_args([]).steps
    assert parse_args(["--quick", "--steps", "77"]).steps == 77
    assert parse_args(["--quick", "--steps", "77"]).workers == parse_args(["--quick"]).workers


def test_stragglers_are_named_with_their_delay():
    assert parse_args(["--slow-worker", "2=5", "--slow-worker", "0=0.5"]).slow_worker == [(2, 5.0), (0, 0.5)]


def test_files_are_called_after_the_run_and_their_directory_is_made(tmp_path):
    options = parse_args(["--run-id", "first", "--results-dir", "a/b"])
    assert str(options.timers) == "a/b/first_timers.json"
    assert (tmp_path / "a" / "b").is_dir()


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as exit_info:
        parse_args(["--help"])
    assert exit_info.value.code == 0
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
        (["--workers", "0"], "--workers 0 is less than 1"),
        (["--workers", "5000"], "--workers 5000: no more than 1000"),
        (["--steps", "many"], "argument --steps: invalid int value: 'many'"),
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
    with pytest.raises(SystemExit) as exit_info:
        parse_args(arguments)
    assert exit_info.value.code == 2
    assert complaint in capsys.readouterr().err.splitlines()[-1]
