from __future__ import annotations

import pytest
from rgb_convlstm.train import parse_eval_args, parse_train_args

from ticktree.cli import demo


def test_the_reference_s_command_line_is_understood():
    options = parse_train_args(
        [
            *("--obs-mode", "rgb_image", "--convlstm", "--enable-profiling", "--timesteps", "10000"),
            *("--profiling-report", "my_report.json", "--profiling-summary-freq", "5000"),
        ]
    )
    assert (options.convlstm, options.enable_profiling, options.timesteps) == (True, True, 10_000)
    assert (options.profiling_report.name, options.profiling_summary_freq) == ("my_report.json", 5000)
    assert (options.obs_mode, options.threads, options.device.type) == ("rgb_image", 1, "cpu")
    assert not options.cached_background


def test_quick_is_a_preset_that_other_options_override():
    for more, timesteps in ([], 512), (["--timesteps", "64"], 64):
        options = parse_train_args(["--quick", *more])
        assert (options.timesteps, options.envs, options.rollout_steps) == (timesteps, 2, 64)


def test_the_demo_shows_what_the_workload_is_named_for():
    options = parse_train_args(list(demo._SHOWN["rgb_convlstm"].arguments))
    assert (options.convlstm, options.obs_mode, options.timesteps) == (True, "rgb_image", 512)


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as exit_info:
        parse_train_args(["--help"])
    assert exit_info.value.code == 0
    text = capsys.readouterr().out
    for option in (
        *("--obs-mode", "--convlstm", "--timesteps", "--quick", "--cached-background", "--seed", "--save"),
        *("--enable-profiling", "--profiling-report", "--profiling-summary-freq"),
    ):
        assert option in text
    with pytest.raises(SystemExit):
        parse_eval_args(["--help"])
    assert "--deterministic" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--obs-mode", "text"], "invalid choice"),
        (["--timesteps", "0"], "--timesteps 0 is less than 1"),
        (["--timesteps", "many"], "argument --timesteps: invalid int value: 'many'"),
        (["--robots", "7"], "--robots 7: there are colours for 6"),
        (["--robots", "4", "--size", "2"], "do not fit on a board of 2 x 2"),
        (["--convlstm", "--picture-pixels", "50"], "--picture-pixels 50 is no multiple of 4"),
        (["--convlstm", "--obs-mode", "planes", "--size", "10"], "--size 10 is no multiple of 4"),
        (["--obs-mode", "planes", "--size", "5"], "--size 5 is too little for --obs-mode planes: at least 6"),
        (["--picture-pixels", "32"], "--picture-pixels 32 is too little"),
        (["--learning-rate", "0"], "--learning-rate 0.0 is not above 0"),
        (["--device", "toaster"], "no such device: toaster"),
        (["--save", "no/such/place/model.zip"], "--save no/such/place/model.zip: there is no such directory"),
        (["--enable-profiling", "--profiling-report", "no/where.json"], "there is no such directory"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_status_2(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as exit_info:
        parse_train_args(arguments)
    assert exit_info.value.code == 2
    assert complaint in capsys.readouterr().err.splitlines()[-1]
