import pytest
from rest_racing.race import parse_race_args, parse_train_args


def test_by_default_nineteen_models_are_merged_and_every_frame_is_drawn():
    options = parse_race_args([])
    assert (options.variant, options.draw, options.models) == ("many", "all", 19)
    assert not options.no_server_timing
    assert options.after == 100


def test_quick_is_a_preset_that_other_options_override():
    assert parse_race_args(["--quick"]).steps < parse_race_args([]).steps
    assert parse_race_args(["--quick"]).lesson < parse_race_args([]).lesson
    assert parse_race_args(["--quick", "--steps", "7"]).steps == 7


def test_the_means_that_leave_a_hundred_steps_out_have_some_left_in_a_quick_run():
    options = parse_race_args(["--quick"])
    assert options.steps > options.after


def test_what_is_taught_is_what_is_driven_with():
    options = ["--models", "3", "--lesson", "9", "--epochs", "2", "--frames", "4", "--seed", "5"]
    assert parse_train_args(options).pretrain == parse_race_args(options).pretrain


@pytest.mark.parametrize("parse", [parse_race_args, parse_train_args])
def test_help_is_an_ordinary_one(parse, capsys):
    with pytest.raises(SystemExit) as exit_info:
        parse(["--help"])
    assert exit_info.value.code == 0
    text = capsys.readouterr().out
    for option in ("--quick", "--models", "--frames", "--lesson", "--epochs", "--threads", "--seed"):
        assert option in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--variant", "some"], "invalid choice"),
        (["--draw", "none"], "invalid choice"),
        (["--steps", "0"], "--steps 0 is less than 1"),
        (["--models", "x"], "argument --models: invalid int value: 'x'"),
        (["--policies", "nowhere.pt"], "--policies nowhere.pt: there is no such file"),
        (["--server", "localhost:1"], "--server localhost:1: an address begins with http://"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_status_2(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as exit_info:
        parse_race_args(arguments)
    assert exit_info.value.code == 2
    assert complaint in capsys.readouterr().err.splitlines()[-1]


def test_models_are_not_written_to_where_there_is_no_directory(capsys):
    with pytest.raises(SystemExit) as exit_info:
        parse_train_args(["--out", "nowhere/models.pt"])
    assert exit_info.value.code == 2
    assert "--out nowhere/models.pt: there is no such directory" in capsys.readouterr().err
